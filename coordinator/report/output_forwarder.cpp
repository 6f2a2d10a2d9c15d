#include "output_forwarder.hpp"

#include <boost/asio/buffer.hpp>

namespace sluice::coordinator {

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
