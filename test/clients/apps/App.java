import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.Span;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.logging.Logger;

public class App {
  static final Logger LOGGER = Logger.getLogger("app");

  public static void main(String[] args) throws IOException {
    int port = Integer.parseInt(System.getenv("PORT"));
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.createContext("/users", App::serveUsers);
    server.createContext("/boom", App::fail);
    server.start();
  }

  static void serveUsers(HttpExchange exchange) throws IOException {
    String user = exchange.getRequestHeaders().getFirst("x-user");
    if (user != null) Span.current().setAttribute("user.id", user);
    boolean isWrite = exchange.getRequestMethod().equals("POST");
    if (!isWrite) {
      GlobalOpenTelemetry.getTracer("app").spanBuilder("load user").startSpan().end();
      LOGGER.info("loading " + exchange.getRequestURI().getPath().substring("/users/".length()));
    }
    reply(exchange, isWrite ? 201 : 200);
  }

  static void fail(HttpExchange exchange) throws IOException {
    Span.current().recordException(new IllegalStateException("no luck"));
    reply(exchange, 500);
  }

  static void reply(HttpExchange exchange, int status) throws IOException {
    byte[] body = "{}".getBytes();
    exchange.sendResponseHeaders(status, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }
}
