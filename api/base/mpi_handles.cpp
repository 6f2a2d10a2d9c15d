#include "mpi_handles.hpp"

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace sluice::api {
namespace {

Status status_of_class(int error_class, Status otherwise) {
  switch (error_class) {
    case MPI_ERR_NO_SUCH_FILE:
      return NC_ENOENT;
    case MPI_ERR_FILE_EXISTS:
      return NC_EEXIST;
    case MPI_ERR_ACCESS:
      return NC_EACCESS;
    case MPI_ERR_READ_ONLY:
      return NC_EPERM;
    case MPI_ERR_BAD_FILE:
      return NC_EBAD_FILE;
    case MPI_ERR_NO_SPACE:
      return NC_ENO_SPACE;
    case MPI_ERR_QUOTA:
      return NC_EQUOTA;
    case MPI_ERR_AMODE:
      return NC_EINVAL_OMODE;
    case MPI_ERR_NOT_SAME:
      return NC_EMULTIDEFINE_FNC_ARGS;
    case MPI_ERR_NO_MEM:
      return NC_ENOMEM;
    default:
      return otherwise;
  }
}

}  // namespace

void check_mpi(int code, const std::string& action, Status otherwise) {
  if (code == MPI_SUCCESS) return;
  int error_class = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &error_class);
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw MpiError(
      status_of_class(error_class, otherwise), code,
      "MPI could not " + action + ": " + std::string(text.data(), static_cast<std::size_t>(length)));
}

bool is_mpi_active() noexcept {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

namespace {

/// Whether several threads may call MPI at the same time.
bool is_mpi_for_threads() {
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level), "tell the level of thread support");
  return level == MPI_THREAD_MULTIPLE;
}

MPI_Comm duplicate(MPI_Comm user, const RequestWait& wait) {
  MPI_Comm comm = MPI_COMM_NULL;
  if (!wait) {
    check_mpi(MPI_Comm_dup(user, &comm), "duplicate the communicator");
    return comm;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Comm_idup(user, &comm, &request), "duplicate the communicator");
  wait(request);
  return comm;
}

}  // namespace

Communicator Communicator::duplicate_of(MPI_Comm user, const RequestWait& wait) {
  if (is_mpi_for_threads()) return Communicator(adopt(duplicate(user, wait)));
  SharedHandle handle = kept_with(user);
  if (handle == nullptr) {
    handle = adopt(duplicate(user, wait));
    keep_with(user, handle);
  }
  return Communicator(std::move(handle));
}

Communicator Communicator::part_of(const Communicator& whole, int color) {
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(whole.get(), color, whole.rank(), &comm), "divide the communicator");
  return Communicator(adopt(comm));
}

Communicator::Communicator(SharedHandle handle) : handle_(std::move(handle)) {
  check_mpi(MPI_Comm_rank(get(), &rank_), "tell the rank");
  check_mpi(MPI_Comm_size(get(), &size_), "tell the size of the communicator");
}

Communicator::SharedHandle Communicator::adopt(MPI_Comm comm) {
  auto handle = std::make_shared<const Handle>(comm);
  check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "set the error handler of a communicator");
  return handle;
}

Communicator::Handle::~Handle() {
  MPI_Comm freed = comm;
  if (freed != MPI_COMM_NULL && is_mpi_active()) MPI_Comm_free(&freed);
}

Communicator::SharedHandle Communicator::kept_with(MPI_Comm user) {
  void* kept = nullptr;
  int is_there = 0;
  check_mpi(MPI_Comm_get_attr(user, attribute_key(), &kept, &is_there),
            "look for a communicator's attribute");
  return is_there != 0 ? *static_cast<SharedHandle*>(kept) : nullptr;
}

void Communicator::keep_with(MPI_Comm user, const SharedHandle& handle) {
  auto kept = std::make_unique<SharedHandle>(handle);
  check_mpi(MPI_Comm_set_attr(user, attribute_key(), kept.get()), "set a communicator's attribute");
  (void)kept.release();  // forget() frees it
}

/// MPI calls this function when the user's communicator is freed. A duplicate that the user makes has no such
/// attribute.
int Communicator::forget(MPI_Comm, int, void* kept, void*) noexcept {
  const std::unique_ptr<SharedHandle> owner(static_cast<SharedHandle*>(kept));
  return MPI_SUCCESS;
}

int Communicator::attribute_key() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &Communicator::forget, &made, nullptr),
              "make a key for attributes");
    return made;
  }();
  return key;
}

InfoHandle InfoHandle::duplicate_of(MPI_Info user) {
  InfoHandle result;
  if (user != MPI_INFO_NULL) check_mpi(MPI_Info_dup(user, &result.info_), "copy the info object");
  return result;
}

InfoHandle InfoHandle::adopt(MPI_Info info) noexcept {
  InfoHandle result;
  result.info_ = info;
  return result;
}

InfoHandle::~InfoHandle() {
  if (info_ != MPI_INFO_NULL && is_mpi_active()) MPI_Info_free(&info_);
}

void InfoHandle::set(const std::string& key, const std::string& value) {
  if (info_ == MPI_INFO_NULL) check_mpi(MPI_Info_create(&info_), "make an info object");
  check_mpi(MPI_Info_set(info_, key.c_str(), value.c_str()), "set the hint " + key);
}

std::map<std::string, std::string> InfoHandle::entries() const {
  std::map<std::string, std::string> result;
  if (info_ == MPI_INFO_NULL) return result;
  int count = 0;
  check_mpi(MPI_Info_get_nkeys(info_, &count), "count the hints");
  for (int i = 0; i < count; ++i) {
    std::array<char, MPI_MAX_INFO_KEY + 1> key{};
    check_mpi(MPI_Info_get_nthkey(info_, i, key.data()), "list the hints");
    int length = 0;
    int found = 0;
    check_mpi(MPI_Info_get_valuelen(info_, key.data(), &length, &found), "measure a hint");
    std::vector<char> value(static_cast<std::size_t>(length) + 1);
    check_mpi(MPI_Info_get(info_, key.data(), length, value.data(), &found), "read a hint");
    if (found != 0) result.emplace(key.data(), value.data());
  }
  return result;
}

std::string processor_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  check_mpi(MPI_Get_processor_name(name.data(), &length), "tell the name of the node");
  return {name.data(), static_cast<std::size_t>(length)};
}

}  // namespace sluice::api
