#include "output_forwarder.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>

namespace sluice::coordinator {

void LineSplitter::emit() {
  sink_(line_);
  line_.clear();
}

void LineSplitter::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const bool second_half = after_return_ && bytes.front() == '\n';
    after_return_ = false;
    if (second_half) {
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    const std::size_t taken = std::min(end, longest_line_bytes - line_.size());
    line_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (taken == end && !bytes.empty()) {
      after_return_ = bytes.front() == '\r';
      bytes.remove_prefix(1);
      emit();
    } else if (line_.size() == longest_line_bytes && !bytes.empty()) {
      emit();
    }
  }
}

void LineSplitter::finish() {
  if (!line_.empty()) emit();
}

OutputForwarder::OutputForwarder(boost::asio::io_context& context, runtime::FileDescriptor read_end,
                                 LineSplitter::Sink sink, std::function<void()> on_closed)
    : pipe_(context, read_end.release()), splitter_(std::move(sink)), on_closed_(std::move(on_closed)) {
  pipe_.non_blocking(true);
  read();
}

void OutputForwarder::read() {
  pipe_.async_read_some(boost::asio::buffer(buffer_),
                        [this](const boost::system::error_code& error, std::size_t bytes) {
                          if (error == boost::asio::error::operation_aborted) return;
                          splitter_.add({buffer_.data(), bytes});
                          if (error) return close();
                          read();
                        });
}

void OutputForwarder::close() {
  splitter_.finish();
  pipe_.close();
  on_closed_();
}

void OutputForwarder::finish() {
  if (!pipe_.is_open()) return;
  boost::system::error_code error;
  constexpr int most_reads = 64;  // limits the time for a process that writes without end
  for (int i = 0; i < most_reads && !error; ++i) {
    const std::size_t bytes = pipe_.read_some(boost::asio::buffer(buffer_), error);
    splitter_.add({buffer_.data(), bytes});
  }
  close();
}

}  // namespace sluice::coordinator
