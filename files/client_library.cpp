#include "client_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <utility>

#include "sluice/files/held_signals.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::files {

namespace {

/// How many libraries the program has loaded so far.
unsigned long long loaded_libraries() noexcept {
  unsigned long long count = 0;
  (void)::dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* result) {
        *static_cast<unsigned long long*>(result) = library->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

/// A function that some library of the program may have. It is looked up only when the program has loaded
/// another library: where there is none, that takes memory of the C library, which a signal handler may have
/// interrupted.
class OptionalFunction {
 public:
  constexpr explicit OptionalFunction(const char* name) : name_(name) {}
  [[nodiscard]] void* find() noexcept {
    const unsigned long long libraries = loaded_libraries();
    if (looked_at_.load(std::memory_order_acquire) == libraries) return function_;
    function_ = ::dlsym(RTLD_DEFAULT, name_);
    if (function_ == nullptr) (void)::dlerror(), (void)::dlerror();  // the second call gives its memory back
    looked_at_.store(libraries, std::memory_order_release);
    return function_;
  }

 private:
  const char* name_;
  std::atomic<void*> function_{nullptr};
  std::atomic<unsigned long long> looked_at_{0};
};

constinit OptionalFunction initialized_of_mpi("MPI_Initialized"), finder("sluice_find_file"),
    asker("sluice_ask"), serves_netcdf("sluice_serves_netcdf");

using Finder = int (*)(const char* path, char* on_disk, std::size_t capacity, int purpose);
using Asker = int (*)(int type, const void* fields, std::size_t bytes, void* answer, std::size_t* capacity,
                      int* descriptor);

}  // namespace

bool uses_mpi() noexcept {
  using Inquiry = int (*)(int*);
  const auto inquire = reinterpret_cast<Inquiry>(initialized_of_mpi.find());
  int is_initialized = 0;
  return inquire != nullptr && inquire(&is_initialized) == 0 && is_initialized != 0;
}

/// A handler may have interrupted MPI, or the client library: it asks by itself.
bool shares_session() noexcept {
  return uses_mpi() && !is_in_handler();
}

namespace {
/// Without MPI, a process has a client library for what it opens by netCDF.
bool has_library_for_netcdf() noexcept {
  const auto serves = reinterpret_cast<int (*)()>(serves_netcdf.find());
  return serves != nullptr && serves() != 0;
}
}  // namespace

void look_for_client_library() noexcept {
  for (OptionalFunction* function : {&initialized_of_mpi, &finder, &asker, &serves_netcdf})
    (void)function->find();
}

bool is_in_pnetcdf() noexcept {
  if (!uses_mpi() && !has_library_for_netcdf()) return false;
  const auto find = reinterpret_cast<Finder>(finder.find());
  return find != nullptr &&
         find("", nullptr, 0, static_cast<int>(runtime::FindPurpose::probe)) == runtime::is_ordinary &&
         !is_in_handler();
}

std::optional<CoupledFile> find_by_client_library(const std::string& path, runtime::FindPurpose purpose) {
  const auto find = reinterpret_cast<Finder>(finder.find());
  if (find == nullptr) return std::nullopt;
  std::array<char, PATH_MAX> on_disk{};
  const int found = [&] {
    const LetSignals let;  // it may wait for long
    return find(path.c_str(), on_disk.data(), on_disk.size(), static_cast<int>(purpose));
  }();
  if (found >= 0) return CoupledFile{CoupledFile::Kind::image, runtime::FileDescriptor(found), {}, 0};
  switch (found) {
    case runtime::FoundFile::is_on_disk:
      return CoupledFile{CoupledFile::Kind::on_disk, {}, on_disk.data(), 0};
    case runtime::FoundFile::is_refused:
      return CoupledFile{CoupledFile::Kind::failed, {}, {}, errno};
    default:
      return CoupledFile{};
  }
}

std::optional<runtime::ReceivedMessage> ask_by_client_library(runtime::MessageType type,
                                                              const std::vector<std::byte>& fields) {
  const auto ask_matcher = shares_session() ? reinterpret_cast<Asker>(asker.find()) : nullptr;
  if (ask_matcher == nullptr) return std::nullopt;
  runtime::ReceivedMessage answer;
  answer.fields.resize(runtime::most_asked_bytes);
  std::size_t bytes = answer.fields.size();
  int descriptor = -1;
  const int status = [&] {
    const LetSignals let;
    return ask_matcher(static_cast<int>(type), fields.data(), fields.size(), answer.fields.data(), &bytes,
                       &descriptor);
  }();
  if (status == NC_ENOTBUILT) return std::nullopt;  // it has nothing for the program's MPI
  if (descriptor >= 0) answer.descriptors.emplace_back(descriptor);
  if (status != NC_NOERR) throw Error(static_cast<Status>(status), "the matcher refuses it");
  answer.fields.resize(bytes);
  return answer;
}

int connection_of_client_library() {
  const auto ask_matcher = shares_session() ? reinterpret_cast<Asker>(asker.find()) : nullptr;
  std::size_t bytes = 0;
  int descriptor = -1;
  const bool is_known = ask_matcher != nullptr && ask_matcher(runtime::asks_for_connection, nullptr, 0,
                                                              nullptr, &bytes, &descriptor) == NC_NOERR;
  return is_known ? descriptor : -1;
}

}  // namespace sluice::files
