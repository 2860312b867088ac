import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;

public class App {
  public static void main(String[] args) throws IOException {
    int port = Integer.parseInt(System.getenv("PORT"));
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.createContext("/users", exchange -> reply(exchange, exchange.getRequestMethod().equals("POST") ? 201 : 200));
    server.createContext("/boom", exchange -> reply(exchange, 500));
    server.start();
  }

  static void reply(HttpExchange exchange, int status) throws IOException {
    byte[] body = "{}".getBytes();
    exchange.sendResponseHeaders(status, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }
}
