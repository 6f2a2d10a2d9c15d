#include "sluice/runtime/handshake.hpp"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/matcher_choice.hpp"
#include "sluice/runtime/run_processes.hpp"
#include "sluice/runtime/version.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

Hello hello_of_process(const std::string& component, std::uint64_t process_token) {
  const auto rank = find_rank(::getenv);
  return {protocol_version,
          std::string(library_version),
          process_token,
          static_cast<std::uint32_t>(::getpid()),
          component,
          is_child_of_run(),
          false,
          rank ? static_cast<std::int32_t>(*rank) : matcher::no_rank};
}

Welcome welcome_of(const ReceivedMessage& answer, const std::string& socket_path) {
  throw_if_error(answer);
  auto welcome = decode<Welcome>(answer.fields);
  if (welcome.protocol != protocol_version || welcome.library_version != library_version) {
    throw Error(NC_EIO, "the client library is Sluice " + std::string(library_version) + " (protocol " +
                            std::to_string(protocol_version) + "), the matcher at " + socket_path +
                            " is Sluice " + welcome.library_version + " (protocol " +
                            std::to_string(welcome.protocol) +
                            "): use the `sluice` command and the library of one installation");
  }
  return welcome;
}

FileImage image_of(ReceivedMessage answer) {
  auto made = decode<ImageMade>(answer.fields);
  if (!made.path.empty()) return {{}, std::move(made)};
  if (answer.descriptors.size() != 1) throw Error(NC_EIO, "damaged packet: an image without a descriptor");
  return {std::move(answer.descriptors.front()), std::move(made)};
}

void throw_if_error(const ReceivedMessage& answer) {
  if (answer.type != MessageType::error) return;
  const auto error = decode<ErrorReply>(answer.fields);
  const bool is_known = error.status < 0 && status_name(error.status) != nullptr;
  throw Error(is_known ? static_cast<Status>(error.status) : NC_EIO, error.text);
}

}  // namespace sluice::runtime
