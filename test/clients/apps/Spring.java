import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.Span;
import java.util.Map;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@EnableAutoConfiguration
@RestController
public class Spring {
  public static void main(String[] args) {
    SpringApplication.run(Spring.class, "--server.port=" + System.getenv("PORT"));
  }

  @GetMapping("/users/{id}")
  Map<String, String> findUser(@PathVariable String id, @RequestHeader("x-user") String user) {
    Span.current().setAttribute("user.id", user);
    GlobalOpenTelemetry.getTracer("app").spanBuilder("load user").startSpan().end();
    LoggerFactory.getLogger("app").info("loading {}", id);
    return Map.of("id", id);
  }

  @PostMapping("/users")
  @ResponseStatus(HttpStatus.CREATED)
  Map<String, String> createUser() {
    return Map.of();
  }

  @GetMapping("/boom")
  void fail() {
    throw new IllegalStateException("no luck");
  }
}
