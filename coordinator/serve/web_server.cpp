// HTTP and WebSocket by Boost.Beast, which only this source includes: it takes long to compile.
#include "web_server.hpp"

#include <sys/socket.h>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

namespace sluice::coordinator {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using Failure = beast::error_code;
using Request = http::request<http::empty_body>;
using Answer = http::response<http::string_body>;

constexpr std::size_t most_strangers = 100;  ///< connections that have not shown the token
constexpr std::size_t most_known = 64;       ///< connections that have
constexpr std::size_t most_lookers = 16;
constexpr std::size_t most_questions = 16;  ///< that wait for an answer
constexpr std::uint32_t most_header_bytes = 8192;
constexpr std::chrono::seconds request_time{10}, answer_time{30}, news_interval{1};

std::string_view view_of(beast::string_view text) {
  return {text.data(), text.size()};
}

/// Only this machine is addressed. A name from elsewhere that leads here (DNS rebinding) is refused; behind a
/// tunnel the port may be another one.
bool is_own_host(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos)
    host = host.substr(0, colon);
  return host == "127.0.0.1" || host == "localhost" || host == "[::1]";
}

/// A page of another address is no page of ours.
bool is_own_origin(const Request& request) {
  const std::string_view origin = view_of(request[http::field::origin]);
  return origin.empty() || origin == "http://" + std::string(view_of(request[http::field::host]));
}

/// Takes the same time whatever differs.
bool is_same(std::string_view given, std::string_view secret) {
  if (given.size() != secret.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < secret.size(); ++i)
    difference |= static_cast<unsigned>(given[i]) ^ static_cast<unsigned>(secret[i]);
  return difference == 0;
}

/// Of "/TOKEN/path?query" what is behind the token. Nothing: the token is missing.
std::optional<std::string_view> behind_token(std::string_view target, const std::string& token) {
  const std::string begin = "/" + token + "/";
  if (!is_same(target.substr(0, begin.size()), begin)) return std::nullopt;
  return target.substr(begin.size());
}

std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char* end = nullptr;
    const std::string code(text.substr(i + 1, text[i] == '%' ? 2 : 0));
    const auto letter = static_cast<char>(std::strtoul(code.c_str(), &end, 16));
    const bool is_code = code.size() == 2 && end == code.c_str() + 2;
    plain += is_code ? letter : text[i];
    i += is_code ? 2 : 0;
  }
  return plain;
}

WebRequest request_of(std::string_view target) {
  const std::size_t mark = target.find('?');
  WebRequest request{std::string(target.substr(0, mark)), {}};
  std::string_view rest = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view each = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(each.size() + 1, rest.size()));
    const std::size_t equals = std::min(each.find('='), each.size());
    request.query[std::string(each.substr(0, equals))] =
        decoded(each.substr(std::min(equals + 1, each.size())));
  }
  return request;
}

/// The page may use what comes from here, and nothing else. For some browsers, 'self' has no WebSockets.
Answer answer_of(const WebAnswer& given, const Request& request) {
  Answer answer{static_cast<http::status>(given.status), request.version()};
  answer.set(http::field::content_type, given.type.empty() ? "text/plain; charset=utf-8" : given.type);
  answer.set(http::field::cache_control, "no-store");
  answer.set("Referrer-Policy", "no-referrer");
  answer.set("Content-Security-Policy",
             std::string(given.has_own_script
                             ? "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                             : "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' "
                               "ws://127.0.0.1:* ws://localhost:*; ") +
                 "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  answer.set("X-Content-Type-Options", "nosniff");
  answer.keep_alive(request.keep_alive());
  answer.body() = given.body;
  answer.prepare_payload();
  return answer;
}

class Looker;
class Visit;

/// What all connections share. Its thread does input and output; questions are answered by another one.
class Server {
 public:
  Server(runtime::FileDescriptor listening, const WebSite& site);
  void run();

  [[nodiscard]] const WebSite& site() const noexcept { return site_; }
  /// Calls `done` with what the site answers, in this thread. Returns false when too many wait already.
  bool ask(const WebRequest& request, std::function<void(const WebAnswer&)> done);

  /// One more connection has shown the token. Returns false when there are too many.
  [[nodiscard]] bool admit() { return known_ < most_known && ++known_ > 0; }
  void dismiss() { --known_; }

  [[nodiscard]] bool has_room_to_look() const noexcept { return lookers_.size() < most_lookers; }
  void add(const std::shared_ptr<Looker>& looker);
  void remove(const std::shared_ptr<Looker>& looker) { lookers_.erase(looker); }

 private:
  void accept();
  void take_in(tcp::socket socket);
  void fetch_news();
  void tell(const std::string& news);

  const WebSite& site_;
  asio::io_context io_;
  tcp::acceptor acceptor_{io_};
  asio::steady_timer timer_{io_}, pause_{io_};
  asio::thread_pool worker_{1};
  std::deque<std::weak_ptr<Visit>> newest_;
  std::set<std::shared_ptr<Looker>> lookers_;  // shared with their operations
  std::shared_ptr<const std::string> news_;    // shared with lookers that send it
  std::size_t known_ = 0;
  std::size_t questions_ = 0;
  bool is_fetching_ = false;
};

/// A connection by WebSocket, to which news are sent. It has nothing to say.
class Looker : public std::enable_shared_from_this<Looker> {
 public:
  Looker(beast::tcp_stream stream, Server& server) : stream_(std::move(stream)), server_(server) {}

  void begin(Request request) {
    request_ = std::move(request);
    beast::get_lowest_layer(stream_).expires_never();
    stream_.set_option(websocket::stream_base::timeout::suggested(beast::role_type::server));
    stream_.read_message_max(most_header_bytes);
    stream_.async_accept(request_, [self = shared_from_this()](Failure failure) {
      if (failure) return self->server_.remove(self);
      self->listen();
      self->is_open_ = true;
      if (self->last_) self->send(self->last_);
    });
  }

  /// Left out while the last ones are still on their way: more come.
  void send(std::shared_ptr<const std::string> news) {
    last_ = std::move(news);
    if (is_sending_ || !is_open_) return;
    is_sending_ = true;
    stream_.text(true);
    stream_.async_write(asio::buffer(*last_),
                        [self = shared_from_this(), kept = last_](Failure failure, std::size_t) {
                          self->is_sending_ = false;
                          if (failure) self->server_.remove(self);
                        });
  }

 private:
  /// Sees its end; and whoever says something is no page of ours.
  void listen() {
    stream_.async_read(buffer_, [self = shared_from_this()](Failure, std::size_t) {
      self->is_open_ = false;
      self->server_.remove(self);
      beast::get_lowest_layer(self->stream_).close();
    });
  }

  websocket::stream<beast::tcp_stream, false> stream_;  // without compression, which costs memory and time
  Server& server_;
  Request request_;
  beast::flat_buffer buffer_{most_header_bytes};
  std::shared_ptr<const std::string> last_;  // shared with the server
  bool is_sending_ = false;
  bool is_open_ = false;
};

/// A connection by HTTP: one request after the other.
class Visit : public std::enable_shared_from_this<Visit> {
 public:
  Visit(tcp::socket socket, Server& server) : stream_(std::move(socket)), server_(server) {}
  ~Visit() {
    if (is_known_) server_.dismiss();
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  void read() {
    parser_.emplace();
    parser_->header_limit(most_header_bytes);
    stream_.expires_after(request_time);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](Failure failure, std::size_t) {
      if (!failure) self->serve(self->parser_->release());
    });
  }
  /// Makes room for others, unless it has shown the token.
  void close_if_strange() {
    if (!is_known_) stream_.close();
  }

 private:
  void serve(Request request) {
    const auto target = behind_token(view_of(request.target()), server_.site().token);
    if (!is_own_host(view_of(request[http::field::host])) || !is_own_origin(request) || !target)
      return write({403, {}, "the address needs the token that sluice serve has printed\n"}, request);
    if (!is_known_ && !(is_known_ = server_.admit()))
      return write({503, {}, "too many connections\n"}, request);
    if (request.method() != http::verb::get) return write({405, {}, "only GET is answered\n"}, request);
    if (*target == "live" && websocket::is_upgrade(request)) return look(std::move(request));
    ask(request_of(*target), request);
  }

  void ask(const WebRequest& question, const Request& request) {
    const auto answer = [self = shared_from_this(), request](const WebAnswer& given) {
      self->write(given, request);
    };
    if (!server_.ask(question, answer)) write({503, {}, "too many questions at once\n"}, request);
  }

  void look(Request request) {
    if (!server_.has_room_to_look()) return write({503, {}, "too many pages are open\n"}, request);
    const auto looker = std::make_shared<Looker>(std::move(stream_), server_);
    server_.add(looker);
    looker->begin(std::move(request));
  }

  void write(const WebAnswer& given, const Request& request) {
    answer_ = answer_of(given, request);
    stream_.expires_after(answer_time);
    http::async_write(stream_, answer_, [self = shared_from_this()](Failure failure, std::size_t) {
      if (!failure && self->answer_.keep_alive()) return self->read();
      Failure ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }

  beast::tcp_stream stream_;
  Server& server_;
  beast::flat_buffer buffer_{2 * most_header_bytes};
  std::optional<http::request_parser<http::empty_body>> parser_;
  Answer answer_;
  bool is_known_ = false;
};

/// A Unix socket is given as one of TCP: reading, writing and accepting are the same for both.
Server::Server(runtime::FileDescriptor listening, const WebSite& site) : site_(site) {
  acceptor_.assign(tcp::v4(), listening.release());
}

void Server::run() {
  asio::signal_set signals(io_, SIGINT, SIGTERM, SIGHUP);
  signals.async_wait([this](Failure, int signal) { site_.stop(signal); });
  accept();
  io_.run();
}

void Server::accept() {
  acceptor_.async_accept([this](Failure failure, tcp::socket socket) {
    if (!failure) take_in(std::move(socket));
    if (!failure) return accept();
    // no descriptors are left: others close some
    pause_.expires_after(news_interval);
    pause_.async_wait([this](Failure) { accept(); });
  });
}

void Server::take_in(tcp::socket socket) {
  const auto visit = std::make_shared<Visit>(std::move(socket), *this);
  newest_.push_back(visit);
  if (newest_.size() > most_strangers) {
    if (const auto oldest = newest_.front().lock()) oldest->close_if_strange();
    newest_.pop_front();
  }
  visit->read();
}

bool Server::ask(const WebRequest& request, std::function<void(const WebAnswer&)> done) {
  if (questions_ == most_questions) return false;
  ++questions_;
  asio::post(worker_, [this, request, done = std::move(done)] {
    asio::post(io_, [this, done, answer = site_.answer(request)] {
      --questions_;
      done(answer);
    });
  });
  return true;
}

void Server::add(const std::shared_ptr<Looker>& looker) {
  lookers_.insert(looker);
  if (is_fetching_ && news_) return looker->send(news_);
  if (!is_fetching_) fetch_news();
}

/// Goes on as long as somebody looks.
void Server::fetch_news() {
  is_fetching_ = !lookers_.empty();
  if (!is_fetching_) return news_.reset();
  asio::post(worker_, [this] { asio::post(io_, [this, news = site_.news()] { tell(news); }); });
}

void Server::tell(const std::string& news) {
  news_ = std::make_shared<const std::string>(news);
  const auto lookers = lookers_;  // one that cannot be told is removed
  for (const auto& looker : lookers) looker->send(news_);
  timer_.expires_after(news_interval);
  timer_.async_wait([this](Failure) { fetch_news(); });
}

}  // namespace

void serve_site(runtime::FileDescriptor listening, const WebSite& site) {
  Server(std::move(listening), site).run();
  std::abort();  // it ends by a signal
}

}  // namespace sluice::coordinator
