#pragma once
// A matcher in its own process, with the test as its coordinator. Clients put and get one variable of 32-bit
// integers.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "coordinator_of_matcher.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/replay/plan.hpp"
#include "sluice/runtime/log_range_map.hpp"
#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/runtime/version.hpp"
#include "sluice/runtime/wire.hpp"
#include "sluice/runtime/write_log.hpp"
#include "support/get_request.hpp"

namespace sluice::runtime::test {

inline constexpr std::uint64_t mib = 1024 * 1024;

/// The directory for segments that have no space in memory.
struct SpillPlace {
  std::string directory = {};
  bool or_elsewhere = false;
};

class LiveMatcher : public CoordinatorOfMatcher {
 public:
  explicit LiveMatcher(std::vector<FileRule> rules, std::uint64_t memory_bytes = 64 * mib,
                       std::vector<ComponentSize> sizes = {}, const SpillPlace& spill = {})
      : LiveMatcher(connected_pair()) {
    CoordinatorHello hello;
    hello.rules = std::move(rules);
    hello.components = std::move(sizes);
    hello.memory_bytes = memory_bytes;
    hello.retain_bytes = memory_bytes / 8;
    hello.spill_directory = spill.directory;
    hello.may_spill_elsewhere = spill.or_elsewhere;
    (void)ask(MessageType::coordinator_hello, encode(hello), MessageType::done);
  }
  ~LiveMatcher() {
    if (process_ > 0) CHECK(end() == 0);
  }

  void component_exited(const std::string& name, const std::string& reason = "exited with status 0") {
    line_->send({MessageType::component_exited, 0, encode(ComponentExited{name, reason})});
  }
  /// Waits until the matcher has handled all earlier messages. The matcher reads its sockets in turn.
  void settle() {
    for (int i = 0; i < 3; ++i) (void)view();
  }
  bool has_event(const std::string& words) {
    (void)view();
    for (const auto& text : events) {
      if (text.find(words) != std::string::npos) return true;
    }
    return false;
  }

  /// Tells the matcher to shut down. Returns its last status report.
  StatusReport shut_down() {
    auto report = decode<StatusReport>(ask(MessageType::shutdown, {}, MessageType::status).fields);
    exit_status = wait_for_exit();
    return report;
  }
  /// Closes the line, as a coordinator that dies.
  int end() {
    line_.reset();
    exit_status = wait_for_exit();
    return exit_status;
  }

  /// A bare connection after hello.
  PacketSocket connection(const std::string& component, std::uint64_t token) const {
    PacketSocket socket = connect_to(path);
    socket.send({MessageType::hello, 1,
                 encode(Hello{protocol_version, std::string(library_version), token, 4711, component})});
    const auto welcome = socket.receive();
    if (!welcome || welcome->type != MessageType::welcome) throw Error(NC_EIO, "no welcome");
    return socket;
  }

  [[nodiscard]] pid_t process() const noexcept { return process_; }

  int exit_status = -1;

 private:
  explicit LiveMatcher(SocketPair line) : CoordinatorOfMatcher(std::move(line.first)) {
    const int descriptor = ::dup(line.second.descriptor());  // without close-on-exec
    process_ = ::fork();
    if (process_ == 0) {
      ::execl(SLUICE_MATCHER_PROGRAM, "sluice-matcher", "--socket", path.c_str(), "--coordinator-fd",
              std::to_string(descriptor).c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(descriptor);
  }

  int wait_for_exit() {
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  pid_t process_ = -1;
};

/// The shape of the variable.
struct Shape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// The header of int v(y, x), as a client sends it.
inline std::vector<std::byte> header_of(Shape shape) {
  formats::Header header;
  header.version = formats::Version::cdf5;
  header.add_dimension({"y", shape.rows, false});
  header.add_dimension({"x", shape.columns, false});
  formats::Variable variable;
  variable.name = "v";
  variable.type = formats::Type::int32;
  variable.dimids = {0, 1};
  header.add_variable(variable);
  formats::compute_layout(header, {}, nullptr);
  return formats::encode_header(header);
}

inline constexpr std::int32_t fill_value = -7;

/// One process that writes a step.
class Writer {
 public:
  Writer(Session& session, const std::string& name, Member member)
      : session_(session),
        created(session.open({{0, name}, member, {}, Purpose::create, {}, 5})),
        step(created.step),
        log_(session, step, {}),
        ranges_(session.step_logs(step)) {}

  void put(std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns,
           const std::vector<std::int32_t>& values) {
    const auto room = log_.reserve(values.size() * sizeof(std::int32_t));
    std::memcpy(room.data, values.data(), values.size() * sizeof(std::int32_t));
    const std::array<std::int64_t, 2> start{row, column};
    const std::array<std::int64_t, 2> count{rows, columns};
    log_.append_request(0, log_.next_sequence(), room.log_offset, {start, count, {}});
    log_.commit();
  }
  void header(Shape shape) { header(header_of(shape)); }
  void header(std::vector<std::byte> bytes) {
    const HeaderRequest update{step, std::move(bytes)};
    (void)session_.prepare(&update, {});
  }
  void sync(std::int64_t records = 0) { session_.sync({step, {log_.position(), records}}); }
  void publish() {
    log_.finish();
    session_.close({PublishRequest{step, 0, {}, {}, log_.ranges()}});
  }

 private:
  Session& session_;

 public:
  const Opened created;
  const std::uint64_t step;

 private:
  WriteLog log_;
  std::shared_ptr<LogRangeMap> ranges_;  ///< shared with its gets; kept while the step is open
};

inline std::vector<std::int32_t> get(Session& session, std::uint64_t step, std::int64_t row,
                                     std::int64_t column, std::int64_t rows, std::int64_t columns) {
  const Plans plans = session.get(sluice::test::get_request(step, 0, {{{row, column}, {rows, columns}, {}}}));
  const auto logs = session.step_logs(step);
  logs->add(plans.ranges);
  std::size_t position = 0;
  const replay::Plan plan = replay::decode_plan(plans.plans, position);
  std::vector<std::int32_t> values(static_cast<std::size_t>(rows * columns), 0);
  LogRangeMap::Reader reader(*logs);
  const int status = replay::execute(
      plan, reader, {formats::Type::int32, formats::Type::int32, false, &fill_value}, values.data());
  if (status != NC_NOERR) throw Error(static_cast<Status>(status), "a get failed");
  return values;
}

inline Member alone() {
  return {random_number(), 0, 1};
}

/// Writes a whole file from one process; every element is `value`.
inline std::uint64_t write_file(Session& session, const std::string& name, Shape shape, std::int32_t value) {
  Writer writer(session, name, alone());
  writer.header(shape);
  writer.put(0, 0, shape.rows, shape.columns,
             std::vector<std::int32_t>(static_cast<std::size_t>(shape.rows * shape.columns), value));
  writer.publish();
  return writer.step;
}

/// Opens the file, reads everything and closes it.
inline std::vector<std::int32_t> read_file(Session& session, const std::string& name, Shape shape) {
  const Opened opened = session.open({{0, name}, alone()});
  auto values = get(session, opened.step, 0, 0, shape.rows, shape.columns);
  session.close({ReadEnd{opened.step, {}}});
  return values;
}

inline int status_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.status();
  }
  return NC_NOERR;
}

inline std::vector<FileRule> one_rule() {
  return {{"*.nc", "model", {"analysis"}}};
}

}  // namespace sluice::runtime::test
