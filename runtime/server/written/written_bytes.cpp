#include "written_bytes.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "memory_file.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/file_reading.hpp"

namespace sluice::runtime {

namespace {

Outcome outcome_of(const Error& error) {
  return {error.status(), error.what()};
}

SharedFile shared(FileDescriptor file) {
  return std::make_shared<const FileDescriptor>(std::move(file));
}

/// Most written files are of other formats, and to map them takes longer than this.
bool begins_as_cdf(const FileDescriptor& file) noexcept {
  std::array<std::byte, 3> signature{};
  return read_range(file, 0, signature) == 0 && std::memcmp(signature.data(), "CDF", signature.size()) == 0;
}

/// Processes of several matchers are about to write the file. Several matchers may do this at once, while
/// none of the processes has got the file: the first one puts the bytes there. On file systems that cannot
/// lock a directory, MPI-IO has one process open it first.
void put_on_disk(const FileDescriptor& bytes, const std::string& path) {
  const FileDescriptor directory(
      ::open(path.substr(0, path.rfind('/') + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) (void)::flock(directory.number(), LOCK_EX);
  const FileDescriptor there(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (there && file_size(there) == file_size(bytes) && have_same_bytes(there, bytes)) return;
  write_file(bytes, path);
}

/// Does the work, which throws exceptions. A thread can pass none on.
template <class Work>
void try_to(Outcome& outcome, const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    outcome = outcome_of(error);
  } catch (const std::exception& error) {
    outcome = {NC_EIO, error.what()};
  }
}

/// What the thread has found; shared by the function that it runs, and the one that follows.
struct FoundByThread {
  FileDescriptor file = {};
  int trouble = 0;          ///< errno of the call that has failed
  bool is_written = false;  ///< and the kernel tells it
  Outcome outcome = {};
};

/// A copy counts with what it does not share with its base.
void compare(const FileBytes& bytes, WrittenBytes::Examined& found) {
  const std::uint64_t size = file_size(*bytes.file);
  if (bytes.base == nullptr) {
    found.changed = {{0, static_cast<std::int64_t>(size)}};
    return;
  }
  const std::uint64_t common = std::min(size, file_size(*bytes.base));
  if (bytes.changed) {
    found.changed = *bytes.changed;
  } else if (bytes.touched) {
    found.changed = changed_ranges(*bytes.file, *bytes.base, *bytes.touched);
    found.compared_bytes = size_within(*bytes.touched, common);
  } else {
    found.changed = changed_ranges(bytes.file, bytes.base);
    found.compared_bytes = common;
  }
  found.is_unchanged = found.changed.empty() && size == file_size(*bytes.base);
}

/// Where the header names far more data than the file has, its puts would take memory for nothing: then the
/// file has only its bytes. Readers map a CDF file. `most_missing`: in bytes.
void look_for_puts(const FileDescriptor& file, const std::string& path, std::uint64_t most_missing,
                   WrittenBytes::Examined& found) {
  if (!begins_as_cdf(file)) return;
  seal_for_others(file);
  const FileContents contents(file);
  auto puts = puts_of(contents.bytes(), path, found.damage);
  const std::uint64_t there = contents.bytes().size();
  if (puts && puts->data_bytes > there && puts->data_bytes - there > most_missing) {
    found.damage = path + ": its header names " + std::to_string(puts->data_bytes) +
                   " bytes of data, and it has " + std::to_string(there) + " bytes";
    puts.reset();
  }
  if (puts) found.puts = std::make_shared<const FilePuts>(std::move(*puts));
}

}  // namespace

// Beginning

void WrittenBytes::begin(const OpenFile& request, SharedFile base, Begun then) {
  const bool goes_on = (request.flags & O_TRUNC) == 0;
  if (goes_on && base == nullptr && request.is_on_disk) return open_base(request, std::move(then));
  make(request, std::move(base), then);
}

/// The file on disk is the base. Opening it may take long.
void WrittenBytes::open_base(const OpenFile& request, Begun then) {
  const auto opened = std::make_shared<FoundByThread>();
  worker_.submit(
      [opened, path = request.path] {
        opened->file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        opened->trouble = errno;
      },
      [this, opened, request, then = std::move(then)] {
        if (opened->file) return make(request, shared(std::move(opened->file)), then);
        const bool lacks_descriptors = opened->trouble == EMFILE || opened->trouble == ENFILE;
        const Status status = lacks_descriptors ? NC_ENFILE : NC_EPERM;
        then({}, outcome_of(IoError(status, opened->trouble, request.path, "open")));
      });
}

void WrittenBytes::make(const OpenFile& request, SharedFile base, const Begun& then) {
  FileBytes made;
  try {
    const std::uint32_t permissions = base ? status_of(*base).st_mode : request.permissions;
    if (is_large(base ? file_size(*base) : last_bytes_[request.key.rule]))
      return make_on_disk(std::move(base), permissions, then);
    SpareFile spare = base ? spares_.take(request.path, base) : SpareFile{};
    const bool is_fit = spare.file && ::fchmod(spare.file->number(), mode_of(permissions)) == 0;
    made.file = is_fit ? std::move(spare.file) : kept_mapped(make_memory_file(permissions));
    if (is_fit) made.lacks = std::move(spare.lacks);
    if (base) set_owner(*made.file, status_of(*base));
  } catch (const Error& error) {
    return then({}, outcome_of(error));
  }
  made.base = std::move(base);
  then(std::move(made), {});
}

/// A file of this size leaves no room for another one in memory. How large a new file becomes is not known,
/// so the rule's last one tells.
bool WrittenBytes::is_large(std::uint64_t bytes) const {
  return bytes > memory_bytes_ / 2 && !store_.spill_directory().empty();
}

/// Where the disk cannot be used so, the file begins in memory.
void WrittenBytes::make_on_disk(SharedFile base, std::uint32_t permissions, Begun then) {
  const auto made = std::make_shared<FileDescriptor>();  // shared by the two functions
  worker_.submit(
      [made, permissions, directory = store_.spill_directory()] {
        try {
          FileDescriptor on_disk = make_file_on_disk(directory, permissions);
          if (tells_who_writes(on_disk)) *made = std::move(on_disk);
        } catch (const Error&) {  // the directory has gone, or is full
        }
      },
      [made, permissions, base = std::move(base), then = std::move(then)] {
        FileBytes begun;
        begun.base = base;
        begun.is_on_disk = static_cast<bool>(*made);
        try {
          begun.file = shared(begun.is_on_disk ? std::move(*made) : make_memory_file(permissions));
        } catch (const Error& error) {
          return then({}, outcome_of(error));
        }
        then(std::move(begun), {});
      });
}

void WrittenBytes::adopt(const OpenFile& request, Begun then) {
  const auto adopted = std::make_shared<FoundByThread>();
  worker_.submit(
      [adopted, path = request.path] {
        adopted->file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
        if (!adopted->file || ::unlink(path.c_str()) != 0) {
          adopted->trouble = errno;
          return;
        }
        adopted->is_written = is_open_for_writing(adopted->file);
      },
      [this, adopted, request, then = std::move(then)] {
        if (adopted->trouble != 0) {
          return then({}, outcome_of(IoError(status_of_error_number(adopted->trouble), adopted->trouble,
                                             request.path, "open")));
        }
        if (!adopted->is_written) return make(request, shared(std::move(adopted->file)), then);
        FileBytes bytes;
        bytes.file = shared(std::move(adopted->file));
        bytes.is_on_disk = bytes.is_adopted = true;
        then(std::move(bytes), {});
      });
}

void WrittenBytes::begin_in_place(const OpenFile& request, SharedFile base,
                                  std::shared_ptr<const UserRights> user, Begun then) {
  const auto opened = std::make_shared<FileInPlace>();  // shared by the two functions, as the outcome
  const auto outcome = std::make_shared<Outcome>();
  worker_.submit(
      [opened, outcome, request, base = std::move(base), user = std::move(user)] {
        try {
          if (base != nullptr) put_on_disk(*base, request.path);
          *opened = FileInPlace::open(request, user.get());
        } catch (const IoError& error) {
          opened->trouble = error.error_number();
        } catch (const std::exception& error) {
          *outcome = {NC_EIO, error.what()};
        }
      },
      [opened, outcome, path = request.path, then = std::move(then)] {
        if (outcome->is_failure()) return then({}, *outcome);
        const int trouble = opened->trouble;
        if (trouble != 0)
          return then({}, outcome_of(IoError(status_of_error_number(trouble), trouble, path, "open")));
        FileBytes bytes;
        bytes.file = shared(std::move(opened->file));
        bytes.is_on_disk = bytes.is_in_place = true;
        bytes.is_told = opened->is_told;
        bytes.before = opened->before;
        then(std::move(bytes), {});
      });
}

void WrittenBytes::copy_base(const FileBytes& bytes, Then then) {
  const auto outcome = std::make_shared<Outcome>();  // shared by the two functions
  copied_bytes_ += bytes.lacks ? size_of(*bytes.lacks) : file_size(*bytes.base);
  const auto copy = [outcome, to = reopened_by_owner(*bytes.file, O_WRONLY), from = bytes.base,
                     lacks = bytes.lacks] {
    const int trouble = lacks ? copy_ranges(from, *to, *lacks) : copy_bytes(*from, *to);
    copy_times(*from, *to);  // they tell later whether the program has changed them
    if (trouble != 0) *outcome = {NC_EIO, std::string("it cannot be copied: ") + std::strerror(trouble)};
  };
  submit(copy, outcome, std::move(then));
}

bool WrittenBytes::may_be_spare(const FileBytes& bytes) {
  return !bytes.is_on_disk && file_size(*bytes.file) >= SpareFiles::least_bytes &&
         !is_open_for_writing(*bytes.file);
}

/// One of the two files is the newest one.
void WrittenBytes::keep_spare(const std::string& path, const FileBytes& bytes, ByteRanges changed) {
  if (bytes.base == nullptr || bytes.is_on_disk || file_size(*bytes.base) < SpareFiles::least_bytes) return;
  const bool is_as_base = changed.empty() && file_size(*bytes.file) == file_size(*bytes.base);
  const SharedFile& newest = is_as_base ? bytes.base : bytes.file;
  auto lacks = std::make_shared<const ByteRanges>(std::move(changed));  // shared with the thread
  spares_.keep({path, is_as_base ? bytes.file : bytes.base, newest, std::move(lacks)}, bytes.base);
}

void WrittenBytes::copy(const OpenFile& name, const SharedFile& from, Begun then) {
  begin(name, from, [this, then = std::move(then)](FileBytes made, const Outcome& outcome) {
    if (outcome.is_failure()) return then({}, outcome);
    try {
      copy_base(made, [made, then](const Outcome& copied) { then(made, copied); });
    } catch (const Error& error) {
      then({}, outcome_of(error));
    }
  });
}

/// Only what has changed is copied, to a snapshot before the former one.
void WrittenBytes::snapshot(const OpenFile& name, const SharedFile& from, const SharedFile& former,
                            Begun then) {
  FileBytes made;
  if (former != nullptr) {
    SpareFile spare = spares_.take(name.path, former);
    made.file = std::move(spare.file);
    made.lacks = std::move(spare.lacks);
  }
  if (made.file == nullptr) return copy(name, from, std::move(then));
  made.base = former;
  const auto changed = std::make_shared<ByteRanges>();  // shared by the two functions, as the outcome
  const auto outcome = std::make_shared<Outcome>();
  const auto work = [made, from, changed, outcome] {
    try_to(*outcome, [&] {
      const int trouble = copy_ranges(made.base, *made.file, *made.lacks);
      if (trouble != 0) throw IoError(NC_EIO, trouble, "a copy of the file", "write");
      *changed = copy_changes(*from, made.base, *made.file);
      copy_facts(*from, *made.file);
    });
  };
  worker_.submit(work, [this, made, changed, outcome, then = std::move(then)] {
    FileBytes copied = made;
    copied.changed = changed;
    copied_bytes_ += size_of(*made.lacks) + size_of(*changed);
    then(std::move(copied), *outcome);
  });
}

void WrittenBytes::save(const FileBytes& bytes, const storage::SavedFile& what, const std::string& to,
                        Then then) {
  const auto outcome = std::make_shared<Outcome>();  // shared by the two functions
  const auto save = [this, outcome, bytes, what, to] {
    try_to(*outcome, [&] {
      const std::string directory = storage::directory_of(to);
      if (!saved_.locks.contains(directory))
        saved_.locks.try_emplace(directory, saved_.system, directory, what.run);
      bytes.saver->save(saved_.system, link_to(*bytes.file), to, what);
    });
  };
  submit(save, outcome, std::move(then));
}

void WrittenBytes::remove_saved(const std::string& path) {
  if (!path.empty()) worker_.submit([path] { (void)::unlink(path.c_str()); });
}

void WrittenBytes::copy_to(const SharedFile& from, const SharedFile& to, Then then) {
  const auto outcome = std::make_shared<Outcome>();  // shared by the two functions
  const auto copy = [outcome, from, to] {
    try_to(*outcome, [&] {
      const struct stat facts = status_of(*from);
      int trouble = ::lseek(to->number(), 0, SEEK_SET) < 0 ? errno : copy_bytes(*from, *to);
      if (trouble == 0 && ::ftruncate(to->number(), facts.st_size) != 0) trouble = errno;
      set_owner(*to, facts);
      if (trouble == 0 && ::fchmod(to->number(), mode_of(facts.st_mode)) != 0) trouble = errno;
      set_times(*to, facts);
      if (trouble != 0)
        *outcome = outcome_of(IoError(status_of_error_number(trouble), trouble, "the file", "write"));
    });
  };
  submit(copy, outcome, std::move(then));
}

// What a file has become

/// Comparing and decoding take as long as the file is large.
void WrittenBytes::examine(const FileBytes& bytes, const std::string& path, bool may_have_puts,
                           std::function<void(const Examined&)> then) {
  const auto found = std::make_shared<Examined>();  // shared by the two functions
  const std::uint64_t most_missing = memory_bytes_ == 0 ? ~std::uint64_t{0} : memory_bytes_;
  const auto examine = [found, bytes, path, may_have_puts, most_missing] {
    try_to(found->outcome, [&] {
      compare(bytes, *found);
      if (found->is_unchanged) return copy_facts(*bytes.file, *bytes.base);
      if (may_have_puts) look_for_puts(*bytes.file, path, most_missing, *found);
    });
  };
  const bool is_slow = bytes.is_on_disk || (bytes.base != nullptr && !bytes.touched);
  const std::uint64_t size = file_size(*bytes.file);
  const bool is_touched = bytes.touched != nullptr && !begins_as_cdf(*bytes.file);
  const std::uint64_t few = is_touched ? size_within(*bytes.touched, size) : size;
  carry_out(is_slow ? ~std::uint64_t{0} : few, examine, [this, found, then = std::move(then)] {
    compared_bytes_ += found->compared_bytes;
    then(*found);
  });
}

void WrittenBytes::write_log(const FileBytes& bytes, const std::shared_ptr<const FilePuts>& puts,
                             const LogMemory& log, Then then) {
  const auto outcome = std::make_shared<Outcome>();  // shared by the two functions
  const auto write = [outcome, puts, log, file = bytes.file] {
    try_to(*outcome, [&] {
      const FileContents contents(*file);
      write_data(*puts, contents.bytes(), log.bytes);
    });
  };
  carry_out(puts->data_bytes, write, [outcome, then = std::move(then)] { then(*outcome); });
}

void WrittenBytes::move_to_disk(const FileBytes& bytes, const SharedFile& to, Begun then) {
  const auto moved = std::make_shared<FoundByThread>();
  const auto move = [moved, to, from = bytes.file] {
    try_to(moved->outcome, [&] { moved->file = become(*to, *from); });
  };
  worker_.submit(move, [moved, bytes, then = std::move(then)] {
    FileBytes after = bytes;
    after.is_on_disk = static_cast<bool>(moved->file);
    if (after.is_on_disk) after.file = shared(std::move(moved->file));
    then(std::move(after), moved->outcome);
  });
}

/// The file on disk is another one, so who has opened the former one goes on with that.
void WrittenBytes::write_to_disk(const FileBytes& bytes, const std::string& path, Then then) {
  const auto outcome = std::make_shared<Outcome>();  // shared by the two functions
  submit([outcome, path, file = bytes.file] { try_to(*outcome, [&] { write_file(*file, path); }); }, outcome,
         std::move(then));
}

void WrittenBytes::submit(std::function<void()> work, std::shared_ptr<const Outcome> outcome, Then then) {
  worker_.submit(std::move(work), [outcome = std::move(outcome), then = std::move(then)] { then(*outcome); });
}

/// Work on so many bytes of a file. For a few, it takes less time than to wake the thread.
void WrittenBytes::carry_out(std::uint64_t bytes, std::function<void()> work, std::function<void()> then) {
  constexpr std::uint64_t most_bytes_here = 128U << 10;
  if (bytes > most_bytes_here) return worker_.submit(std::move(work), std::move(then));
  work();
  boost::asio::post(loop_, std::move(then));
}

}  // namespace sluice::runtime
