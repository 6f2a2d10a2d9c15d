#include "client_library.hpp"

#include <dlfcn.h>

#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::files {

namespace {

template <class Function>
Function function_named(const char* name) noexcept {
  return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

using Finder = int (*)(const char* path, char* on_disk, std::size_t capacity, int purpose);
using Asker = int (*)(int type, const void* fields, std::size_t bytes, void* answer, std::size_t* capacity,
                      int* descriptor);

}  // namespace

bool uses_mpi() noexcept {
  using Inquiry = int (*)(int*);
  const auto inquire = function_named<Inquiry>("MPI_Initialized");
  int is_initialized = 0;
  return inquire != nullptr && inquire(&is_initialized) == 0 && is_initialized != 0;
}

namespace {
/// Without MPI, a process has a client library for what it opens by netCDF.
bool has_library_for_netcdf() noexcept {
  const auto serves = function_named<int (*)()>("sluice_serves_netcdf");
  return serves != nullptr && serves() != 0;
}
}  // namespace

bool is_in_pnetcdf() noexcept {
  if (!uses_mpi() && !has_library_for_netcdf()) return false;
  const auto find = function_named<Finder>("sluice_find_file");
  return find != nullptr &&
         find("", nullptr, 0, static_cast<int>(runtime::FindPurpose::probe)) == runtime::is_ordinary;
}

std::optional<CoupledFile> find_by_client_library(const std::string& path, runtime::FindPurpose purpose) {
  const auto find = function_named<Finder>("sluice_find_file");
  if (find == nullptr) return std::nullopt;
  std::array<char, PATH_MAX> on_disk{};
  const int found = find(path.c_str(), on_disk.data(), on_disk.size(), static_cast<int>(purpose));
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
  const auto ask = uses_mpi() ? function_named<Asker>("sluice_ask") : nullptr;
  if (ask == nullptr) return std::nullopt;
  runtime::ReceivedMessage answer;
  answer.fields.resize(runtime::most_asked_bytes);
  std::size_t bytes = answer.fields.size();
  int descriptor = -1;
  const int status =
      ask(static_cast<int>(type), fields.data(), fields.size(), answer.fields.data(), &bytes, &descriptor);
  if (status == NC_ENOTBUILT) return std::nullopt;  // it has nothing for the program's MPI
  if (descriptor >= 0) answer.descriptors.emplace_back(descriptor);
  if (status != NC_NOERR) throw Error(static_cast<Status>(status), "the matcher refuses it");
  answer.fields.resize(bytes);
  return answer;
}

int connection_of_client_library() {
  const auto ask = uses_mpi() ? function_named<Asker>("sluice_ask") : nullptr;
  std::size_t bytes = 0;
  int descriptor = -1;
  const bool is_known = ask != nullptr && ask(runtime::asks_for_connection, nullptr, 0, nullptr, &bytes,
                                              &descriptor) == NC_NOERR;
  return is_known ? descriptor : -1;
}

}  // namespace sluice::files
