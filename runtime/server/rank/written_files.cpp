#include "written_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>
#include <utility>

#include "file_in_place.hpp"
#include "memory_file.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/file_reading.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/runtime/version.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

namespace {

/// Above all numbers of clients' connections.
constexpr std::uint64_t first_connection = std::uint64_t{1} << 63;

/// Whether the process goes on: it has neither ended nor begun to end.
bool is_going_on(std::uint32_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t behind_name = text.rfind(')');
  if (behind_name == std::string::npos) return false;
  constexpr unsigned long is_exiting = 4;  // PF_EXITING
  std::array<char, 2> state{};
  unsigned long flags = 0;
  if (std::sscanf(text.c_str() + behind_name, ") %1s %*d %*d %*d %*d %*d %lu", state.data(), &flags) != 2)
    return false;
  return state[0] != 'Z' && state[0] != 'X' && (flags & is_exiting) == 0;
}

/// Most written files are of other formats, and to map them takes longer than this.
bool begins_as_cdf(const FileDescriptor& file) noexcept {
  std::array<std::byte, 3> signature{};
  return read_range(file, 0, signature) == 0 && std::memcmp(signature.data(), "CDF", signature.size()) == 0;
}

bool is_for_writing(std::uint32_t flags) noexcept {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
}

}  // namespace

/// A file from its first open on until it is published or given up.
struct WrittenFiles::File : std::enable_shared_from_this<File> {
  enum class State {
    beginning,  ///< who has opened it waits for its descriptor
    open,       ///< somebody can write to it, or it will be opened again before it is published
    closing,    ///< nobody can, and its processes are asked whether they have closed it in order; or it waits
                ///< for a descriptor
    publishing,  ///< nobody can any more
  };
  State state = State::beginning;
  std::string path;
  DatasetKey key;
  std::string component;
  std::uint64_t connection = 0;
  FileDescriptor bytes;
  bool is_on_disk = false;
  bool goes_on = false;      ///< CreateRequest::goes_on
  bool is_in_files = false;  ///< OpenFile::is_in_files
  bool is_in_place = false;  ///< OpenFile::is_in_place
  bool is_told = true;       ///< the kernel tells who has it open for writing; else its holders do
  std::optional<FileState> before = {};  ///< in place: of what was there
  std::shared_ptr<const FileDescriptor> base =
      {};  ///< what it began with, shared with the thread that copies it
  int watch = -1;
  bool is_given = false;  ///< for writing, and not closed since
  std::uint64_t inode = 0;
  std::uint64_t size = 0;              ///< from the last close on
  std::vector<std::uint32_t> holders;  ///< processes that have opened it, or began with it, and not left it
  std::vector<std::uint32_t> heirs;    ///< that have become another program, which may tell that it holds it
  std::uint32_t closes_wanted = 1;
  std::uint32_t closes = 0;
  std::uint64_t doubt = 0;             ///< the close after which somebody could still write; 0: none
  std::vector<QueuedOpen> opens = {};  ///< that wait for its beginning
  bool may_publish_unchanged = true;
  bool asks_first = false;  ///< its base is elsewhere: the registry knows whether it may be written here
  matcher::StepId step = 0;
  // While it is published:
  std::optional<FilePuts> puts = {};
  std::set<std::uint32_t> asked = {};  ///< tags of what has not been answered
  std::map<std::uint32_t, matcher::SegmentId> segments = {};
  std::uint32_t table_tag = 0, data_tag = 0, bytes_tag = 0;
  std::uint32_t last_tag = 0;
  bool is_staged = false;
};

/// What is known of a path.
struct WrittenFiles::Place {
  DatasetKey key = {};
  std::shared_ptr<File> file = {};      ///< that is being written, shared with the thread that reads it
  matcher::StepId step = 0;             ///< the newest one that was published; 0: none
  std::vector<QueuedOpen> queued = {};  ///< until the file is published
  std::vector<std::function<void()>> waiting = {};  ///< for the same
};

WrittenFiles::WrittenFiles(MatcherBase& base, ClientConnections& clients)
    : base_(base),
      clients_(clients),
      watch_(base.loop, [this](int watch) { closed(watch); }),
      worker_(base.loop) {}

WrittenFiles::~WrittenFiles() = default;

// Opening

/// What was closed before counts before.
void WrittenFiles::open(Client& client, std::uint32_t tag, const OpenFile& request) {
  const ClientId id = client.id;
  if (!by_watch_.empty()) watch_.take_news();  // may take messages of the client, and end it
  open_now({id, tag, request});
}

void WrittenFiles::open_now(const QueuedOpen& open) {
  const OpenFile& request = open.request;
  const auto has = [&](int flag) { return (request.flags & static_cast<std::uint32_t>(flag)) != 0; };
  const auto known = places_.find(request.path);
  const bool is_there = known != places_.end() && (known->second.file || known->second.step != 0);
  if (!is_there && request.is_in_place && !is_for_writing(request.flags)) return leave_to_disk(open);
  if (!is_there && may_be_elsewhere(open)) return look_elsewhere(open);
  const bool exists = is_there || request.is_on_disk || open.base != nullptr;
  if (has(O_CREAT) && has(O_EXCL) && exists)
    return refuse(open, NC_EEXIST, request.path + " exists, and O_EXCL was given");
  if (!has(O_CREAT) && !exists && !request.is_in_place)
    return refuse(open, NC_ENOENT, request.path + " is not there");
  Place& place = places_[request.path];
  place.key = request.key;
  try {
    if (place.file && place.file->state == File::State::beginning) {
      place.file->opens.push_back(open);
    } else if (place.file && (place.file->state == File::State::open || !is_for_writing(request.flags))) {
      (void)give(*place.file, open);
    } else if (place.file) {
      place.queued.push_back(open);
    } else if (is_for_writing(request.flags)) {
      begin(place, open);
    } else if (Client* const client = clients_.find(open.client)) {
      const auto own = reopened(*sealed_.open(place.step), request.flags);
      clients_.send(*client, MessageType::file_opened, open.tag, encode(FileOpened{}), {own});
    }
  } catch (const Error& error) {
    refuse(open, error.status(), error.what());
    tidy(request.path);
  }
}

/// Whether the open depends on what this matcher does not know.
bool WrittenFiles::may_be_elsewhere(const QueuedOpen& open) const {
  const auto has = [&](int flag) { return (open.request.flags & static_cast<std::uint32_t>(flag)) != 0; };
  return !open.request.is_in_place && !open.has_looked && (!has(O_TRUNC) || has(O_EXCL));
}

/// The file is on disk, as its last writer has left it.
void WrittenFiles::leave_to_disk(const QueuedOpen& open) {
  if (Client* const client = clients_.find(open.client))
    clients_.send(*client, MessageType::file_opened, open.tag, encode(FileOpened{true}));
}

/// The component may have written it by PnetCDF, or on another node. Who reads it gets it; who writes it goes
/// on with it.
void WrittenFiles::look_elsewhere(const QueuedOpen& open) {
  Client* const client = clients_.find(open.client);
  if (client == nullptr) return;
  Client::ImageRead& look = client->image_reads[open.tag];
  look.is_own = true;
  if (is_for_writing(open.request.flags)) {
    // Later: the registry may be in the middle of something.
    look.then = [this, open](const SharedFile& found) {
      QueuedOpen next = open;
      next.has_looked = true;
      next.base = found;
      boost::asio::post(base_.loop, [this, next] { open_now(next); });
    };
  }
  const Member alone{random_number() >> 1, 0, 1, false};
  OpenRequest newest{open.request.key, alone, open.request.path, open.request.is_on_disk};
  newest.is_look = true;
  newest.wants_newest = true;
  base_.tree.send_up(ClientRequest{client->id, open.tag, OpenForReading{newest}});
}

/// A new file, or a copy of the one before.
void WrittenFiles::begin(Place& place, const QueuedOpen& open) {
  const OpenFile& request = open.request;
  Client* const client = clients_.find(open.client);
  if (client == nullptr) return;
  const auto made = std::make_shared<File>();
  File& file = *made;
  file.path = request.path;
  file.key = request.key;
  file.component = client->process->component;
  file.connection = first_connection + ++last_file_;
  file.closes_wanted = request.closes;
  file.is_in_files = request.is_in_files;
  file.is_in_place = request.is_in_place;
  file.opens.push_back(open);
  file.goes_on = (request.flags & O_TRUNC) == 0;
  const bool has_base = file.goes_on && !file.is_in_place;
  if (has_base) file.base = sealed_.open(place.step);
  if (has_base && !file.base) {
    file.base = open.base;
    file.asks_first = open.base != nullptr && base_.nodes.size() > 1;
  }
  const bool has_base_on_disk = has_base && !file.base && request.is_on_disk;
  place.file = made;
  by_connection_.emplace(file.connection, &file);
  const Hello hello{protocol_version,
                    std::string(library_version),
                    client->process->token,
                    client->process->process_id,
                    file.component,
                    false,
                    true};
  base_.tree.send_up(ClientRequest{file.connection, 0, hello});
  if (file.is_in_place) return ask_create(file);  // first: readers may have the former contents open
  has_base_on_disk ? open_base(file, request.permissions) : begin_bytes(file, request.permissions);
}

/// The registry has made the step.
void WrittenFiles::open_in_place(const File& file) {
  const auto opened = std::make_shared<FileInPlace>();  // shared by the two functions
  worker_.submit(
      [opened, request = file.opens.front().request] {
        try {
          *opened = FileInPlace::open(request);
        } catch (const IoError& error) {
          opened->trouble = error.error_number();
        }
      },
      [this, opened, connection = file.connection] {
        File* const begun = find(connection);
        if (begun == nullptr) return;
        const int trouble = opened->trouble;
        if (trouble != 0)
          return give_up(*begun, IoError(status_of_error_number(trouble), trouble, begun->path, "open"));
        begun->is_on_disk = true;
        begun->is_told = opened->is_told;
        begun->before = opened->before;
        try {
          watch(*begun, std::move(opened->file));
        } catch (const Error& error) {
          return give_up(*begun, error);
        }
        answer_opens(*begun);
      });
}

/// The file on disk is the base. Opening it may take long.
void WrittenFiles::open_base(const File& file, std::uint32_t permissions) {
  struct Opened {
    FileDescriptor base;
    int trouble = 0;
  };
  const auto opened = std::make_shared<Opened>();  // shared by the two functions
  worker_.submit(
      [opened, path = file.path] {
        opened->base = FileDescriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        opened->trouble = errno;
      },
      [this, opened, permissions, connection = file.connection] {
        File* const begun = find(connection);
        if (begun == nullptr) return;
        const bool lacks_descriptors = opened->trouble == EMFILE || opened->trouble == ENFILE;
        const Status status = lacks_descriptors ? NC_ENFILE : NC_EPERM;
        if (!opened->base) return give_up(*begun, IoError(status, opened->trouble, begun->path, "open"));
        begun->base = std::make_shared<const FileDescriptor>(std::move(opened->base));
        begin_bytes(*begun, permissions);
      });
}

void WrittenFiles::begin_bytes(File& file, std::uint32_t permissions) {
  try {
    if (file.base) permissions = status_of(*file.base).st_mode;
    if (is_large(file.base ? file_size(*file.base) : last_bytes_[file.key.rule]))
      return begin_on_disk(file, permissions);
    watch(file, make_memory_file(permissions));
  } catch (const Error& error) {
    return give_up(file, error);
  }
  begin_contents(file);
}

/// A file of this size leaves no room for another one in memory. How large a new file becomes is not known,
/// so the rule's last one tells.
bool WrittenFiles::is_large(std::uint64_t bytes) const {
  return bytes > memory_bytes_ / 2 && !base_.store.spill_directory().empty();
}

/// Where the disk cannot be used so, the file begins in memory.
void WrittenFiles::begin_on_disk(const File& file, std::uint32_t permissions) {
  const auto made = std::make_shared<FileDescriptor>();  // shared by the two functions
  worker_.submit(
      [made, permissions, directory = base_.store.spill_directory()] {
        try {
          FileDescriptor on_disk = make_file_on_disk(directory, permissions);
          if (tells_who_writes(on_disk)) *made = std::move(on_disk);
        } catch (const Error&) {  // the directory has gone, or is full
        }
      },
      [this, made, permissions, connection = file.connection] {
        File* const begun = find(connection);
        if (begun == nullptr) return;
        try {
          begun->is_on_disk = static_cast<bool>(*made);
          watch(*begun, *made ? std::move(*made) : make_memory_file(permissions));
        } catch (const Error& error) {
          return give_up(*begun, error);
        }
        begin_contents(*begun);
      });
}

void WrittenFiles::watch(File& file, FileDescriptor bytes) {
  file.bytes = std::move(bytes);
  file.inode = status_of(file.bytes).st_ino;
  file.watch = file.is_in_place ? watch_.add(file.bytes) : watch_.add_later(file.bytes);
  by_watch_.emplace(file.watch, &file);
}

void WrittenFiles::begin_contents(File& file) {
  file.base ? copy_base(file) : ask_create(file);
}

/// The registry hears of the file only when it has changed: programs open files for writing, just to look.
void WrittenFiles::copy_base(File& file) {
  file.may_publish_unchanged = false;
  const auto trouble = std::make_shared<int>(0);  // shared by the two functions
  SharedFile to;
  try {
    to = reopened(file.bytes, O_WRONLY);
  } catch (const Error& error) {
    return give_up(file, error);
  }
  const auto copy = [trouble, to, from = file.base] {
    *trouble = copy_bytes(*from, *to);
    copy_times(*from, *to);  // they tell later whether the program has changed them
  };
  worker_.submit(copy, [this, trouble, to, connection = file.connection] {
    File* const copied = find(connection);
    if (copied == nullptr) return;
    if (*trouble == 0) return copied->asks_first ? ask_create(*copied) : answer_opens(*copied);
    abandon(*copied, std::string("it cannot be copied: ") + std::strerror(*trouble));
  });
}

void WrittenFiles::ask_create(File& file) {
  const Member alone{random_number() >> 1, 0, 1, false};
  CreateRequest create{file.key, alone, false, 0, file.path};
  create.goes_on = file.goes_on;
  ask(file, std::move(create));
}

void WrittenFiles::ask(File& file, RegistryRequest request) {
  const std::uint32_t tag = ++file.last_tag;
  file.asked.insert(tag);
  base_.tree.send_up(ClientRequest{file.connection, tag, std::move(request)});
}

void WrittenFiles::answer_opens(File& file) {
  file.state = File::State::open;
  const std::uint64_t connection = file.connection;
  bool is_given = false;
  for (const QueuedOpen& open : std::exchange(file.opens, {})) {
    try {
      is_given = give(file, open) || is_given;
    } catch (const Error& error) {
      refuse(open, error.status(), error.what());
    }
  }
  if (!is_given && find(connection) != nullptr) abandon(file, "the process that has opened it has ended");
}

/// Whether somebody can write now. It is opened here, so that the file counts as open for writing from now
/// on, and not only when the process has got the descriptor.
bool WrittenFiles::give(File& file, const QueuedOpen& open) {
  Client* const client = clients_.find(open.client);
  if (client == nullptr) return false;
  const auto own = reopened(file.bytes, open.request.flags);
  if (is_for_writing(open.request.flags)) {
    file.is_given = true;
    file.holders.push_back(client->process->process_id);
    file.closes_wanted = open.request.closes;
  }
  clients_.send(*client, MessageType::file_opened, open.tag, encode(FileOpened{}), {own});
  return is_for_writing(open.request.flags);
}

void WrittenFiles::refuse(const QueuedOpen& open, int status, const std::string& text) {
  if (status == NC_ENFILE) note_no_descriptor(open.request.path, "cannot be opened");
  if (Client* const client = clients_.find(open.client)) clients_.send_error(*client, open.tag, status, text);
}

/// It is told once: many opens may fail one after the other.
void WrittenFiles::note_no_descriptor(const std::string& path, const std::string& effect) {
  if (std::exchange(has_told_of_descriptors_, true)) return;
  base_.log.event("'" + path + "' " + effect +
                  ": the matcher has no file descriptor left. Raise the hard limit (ulimit -Hn), or use more "
                  "matchers a node (staging.matchers)");
}

/// A process tells when it has closed a file, so that is known before the kernel tells.
void WrittenFiles::note(const Client& client, const FileHolder& note) {
  const std::uint32_t process = client.process->process_id;
  std::vector<int> left;
  for (const auto& [watch, file] : by_watch_) {
    if (std::ranges::find(note.files, file->inode) == note.files.end()) continue;
    std::erase(file->holders, process);
    std::erase(file->heirs, process);
    if (note.holds) file->holders.push_back(process);
    if (note.is_by_exec) file->heirs.push_back(process);
    const bool has_closed = !note.holds && !note.is_by_exec && file->is_given;
    if (has_closed && file->is_told && !is_open_for_writing(file->bytes)) left.push_back(watch);
  }
  for (const int watch : left) {
    const auto found = by_watch_.find(watch);
    const bool is_open = found != by_watch_.end() && found->second->state == File::State::open;
    if (is_open) closed_all(*found->second);  // may take messages of the client, and end it
  }
}

/// Whether somebody can write to it. Where the kernel does not tell, a holder can.
bool WrittenFiles::is_open_somewhere(const File& file) {
  if (file.is_told) return is_open_for_writing(file.bytes);
  return std::ranges::any_of(file.holders, is_going_on);
}

/// The registry also knows what the component has written by PnetCDF, or on another node.
void WrittenFiles::remove(Client& client, std::uint32_t tag, const Remove& request) {
  const auto known = places_.find(request.path);
  if (known == places_.end() || (!known->second.file && known->second.step == 0))
    return base_.tree.send_up(ClientRequest{client.id, tag, request});
  const bool is_published = std::exchange(known->second.step, 0) != 0;
  if (File* const file = known->second.file.get()) abandon(*file, "it was removed");
  if (is_published) {
    base_.tree.send_up(ClientRequest{client.id, tag, request});
  } else {
    clients_.send(client, MessageType::done, tag, {});
  }
}

/// On disk a file is there from its open on.
Listing WrittenFiles::list(const ListRequest& request) const {
  static constexpr std::size_t most_in_a_part = 1000;
  Listing listing;
  const std::string directory = request.directory == "/" ? request.directory : request.directory + '/';
  auto place = request.after ? places_.upper_bound(request.after->name) : places_.lower_bound(directory);
  for (std::size_t count = 0; place != places_.end() && place->first.starts_with(directory); ++place) {
    const auto& [path, known] = *place;
    if (count++ == most_in_a_part) break;
    listing.last = DatasetKey{0, path};
    if (path.find('/', directory.size()) != std::string::npos) continue;
    if (known.step != 0 || known.file) listing.files.push_back({known.key, {}, path, known.step});
  }
  if (place == places_.end() || !place->first.starts_with(directory)) listing.last.reset();
  return listing;
}

// Closing

void WrittenFiles::closed(int watch) {
  const auto found = by_watch_.find(watch);
  if (found == by_watch_.end()) return;
  File& file = *found->second;
  if (file.state != File::State::open || !file.is_given) return;
  if (!is_open_somewhere(file)) return closed_all(file);
  file.doubt = ++last_doubt_;
  look_again(watch, file.doubt, std::chrono::microseconds(50));
}

/// The kernel tells of a close a moment before nobody can write any more, and not again after that.
void WrittenFiles::look_again(int watch, std::uint64_t doubt, std::chrono::microseconds after) {
  static constexpr std::chrono::seconds longest(2);
  const auto timer = std::make_shared<boost::asio::steady_timer>(base_.loop, after);  // shared with its wait
  timer->async_wait([this, timer, watch, doubt, after](const boost::system::error_code& error) {
    const auto found = by_watch_.find(watch);
    if (error || found == by_watch_.end()) return;
    File& file = *found->second;
    if (file.doubt != doubt || file.state != File::State::open) return;
    if (!is_open_somewhere(file)) return closed_all(file);
    if (after < longest) look_again(watch, doubt, 2 * after);
  });
}

/// Nobody can write. What its processes have said before comes first; what they open now, later.
void WrittenFiles::closed_all(File& file) {
  const auto held = file.shared_from_this();
  file.doubt = 0;
  file.state = File::State::closing;
  std::vector<std::uint32_t> concerned = file.holders;
  concerned.insert(concerned.end(), file.heirs.begin(), file.heirs.end());
  if (!concerned.empty()) clients_.take_sent(concerned);
  bool is_known = concerned.empty();
  while (find(file.connection) != nullptr && (std::exchange(is_known, false) || !is_open_somewhere(file))) {
    const auto ended = std::ranges::find_if_not(file.holders, is_going_on);
    if (ended == file.holders.end()) {
      file.holders.clear();
      file.heirs.clear();
      file.is_given = false;
      ++file.closes;
      break;
    }
    // A process that leaves its files in order says so before it ends.
    const std::array<std::uint32_t, 1> process{*ended};
    clients_.take_sent(process);
    if (std::ranges::find(file.holders, process.front()) == file.holders.end()) continue;
    return abandon(file, "process " + std::to_string(process.front()) + " of " + file.component +
                             " was killed before it had closed it");
  }
  if (find(file.connection) == nullptr) return;
  file.state = File::State::open;
  if (file.closes_wanted != 0 && file.closes >= file.closes_wanted) publish(file);
  if (file.state == File::State::open) serve_queued(file.path);
}

void WrittenFiles::publish(File& file) {
  // Where somebody has opened it by now, it will be closed once more. A file on disk cannot be sealed.
  try {
    const bool is_final = file.is_on_disk ? !is_open_somewhere(file) : seal(file.bytes);
    file.is_given = !is_final;
    if (!is_final) return;
  } catch (const Error&) {
    return publish_later(file);
  }
  watch_.remove(file.watch);
  by_watch_.erase(file.watch);
  file.watch = -1;
  file.state = File::State::publishing;
  file.size = file_size(file.bytes);
  last_bytes_[file.key.rule] = file.size;  // the writer may begin the next one now
  read_contents(file);
}

/// Sealing takes a descriptor for a moment. Others will give some back.
void WrittenFiles::publish_later(File& file) {
  static constexpr std::chrono::milliseconds wait(20);
  note_no_descriptor(file.path, "is published later");
  file.state = File::State::closing;
  const auto timer = std::make_shared<boost::asio::steady_timer>(base_.loop, wait);  // shared with its wait
  timer->async_wait([this, timer, connection = file.connection](const boost::system::error_code& error) {
    File* const waiting = error ? nullptr : find(connection);
    if (waiting == nullptr || waiting->state != File::State::closing) return;
    waiting->state = File::State::open;
    publish(*waiting);
    if (waiting->state == File::State::open) serve_queued(waiting->path);
  });
}

/// Work on so many bytes of a file. For a few, it takes less time than to wake the thread.
void WrittenFiles::carry_out(std::uint64_t bytes, std::function<void()> work, std::function<void()> then) {
  constexpr std::uint64_t most_bytes_here = 128U << 10;
  if (bytes > most_bytes_here) return worker_.submit(std::move(work), std::move(then));
  work();
  boost::asio::post(base_.loop, std::move(then));
}

/// A reader may have taken the step before for the whole file. It is told once a rule: some programs add to a
/// file all the time.
void WrittenFiles::note_continued(const File& file) {
  if (file.closes_wanted != 1 || !continued_.insert(file.key.rule).second) return;
  base_.log.event(
      file.component + " has gone on in '" + file.path +
      "', which was published when it was closed before: readers may have taken that for the whole "
      "file. If they should wait, give the rule 'publish: exit', or 'publish: close:N'");
}

/// The bytes are where they belong. Who has opened the file just to look has changed nothing.
void WrittenFiles::end_in_place(File& file) {
  if (file.before && *file.before == state_of(file.bytes)) {
    base_.tree.send_up(ClientRequest{file.connection, 0, Discard{file.step, true}});
    return drop(file);
  }
  complete(file);
}

/// Comparing and decoding take as long as the file is large.
void WrittenFiles::read_contents(File& file) {
  if (file.is_in_place) return end_in_place(file);
  struct Result {
    bool is_unchanged = false;
    std::optional<FilePuts> puts;
    std::string trouble;
    bool is_failure = false;
  };
  const auto result = std::make_shared<Result>();  // shared by the two functions
  const auto read = [result, held = file.shared_from_this()] {
    try {
      const File& file = *held;
      result->is_unchanged = file.base && file_size(file.bytes) == file_size(*file.base) &&
                             have_same_bytes(file.bytes, *file.base);
      if (result->is_unchanged) return copy_facts(file.bytes, *file.base);
      if (file.is_in_files || !begins_as_cdf(file.bytes)) return;
      const FileContents contents(file.bytes);
      result->puts = puts_of(contents.bytes(), file.path, result->trouble);
    } catch (const std::exception& error) {
      result->trouble = error.what();
      result->is_failure = true;
    }
  };
  carry_out(file.is_on_disk || file.base ? ~std::uint64_t{0} : file.size, read,
            [this, result, connection = file.connection] {
              File* const known = find(connection);
              if (known == nullptr) return;
              if (result->is_unchanged) return drop(*known);
              if (result->is_failure) return abandon(*known, result->trouble);
              if (known->goes_on && places_.at(known->path).step != 0) note_continued(*known);
              known->puts = std::move(result->puts);
              known->step == 0 ? ask_create(*known) : stage(*known);
            });
}

/// The file on disk is another one, so who has opened the former one goes on with that.
void WrittenFiles::write_to_disk(File& file) {
  const auto trouble = std::make_shared<std::string>();  // shared by the two functions
  const auto write = [trouble, held = file.shared_from_this()] {
    try {
      write_file(held->bytes, held->path);
    } catch (const std::exception& error) {
      *trouble = error.what();
    }
  };
  worker_.submit(write, [this, trouble, connection = file.connection] {
    File* const written = find(connection);
    if (written == nullptr) return;
    trouble->empty() ? complete(*written) : abandon(*written, *trouble);
  });
}

/// The bytes count as a segment that nobody touches: in staging.memory, or on the spill disk. The puts of a
/// CDF file have segments as those of any process.
void WrittenFiles::stage(File& file) {
  if (file.is_in_files) return write_to_disk(file);
  file.is_staged = true;
  const std::uint64_t bytes = file.size;
  std::vector<RegistryRequest> questions;
  const auto need = [&](SegmentUse use, std::uint64_t size) {
    const bool is_there = use == SegmentUse::file && file.is_on_disk;
    questions.push_back(SegmentRequest{file.step, use, size, size, {}, false, is_there});
    return file.last_tag + static_cast<std::uint32_t>(questions.size());
  };
  if (bytes > 0) file.bytes_tag = need(SegmentUse::file, bytes);
  if (file.puts) {
    file.table_tag = need(SegmentUse::table, file.puts->table_bytes);
    if (!file.puts->is_log && file.puts->data_bytes > 0)
      file.data_tag = need(SegmentUse::data, file.puts->data_bytes);
    formats::Header header = file.puts->header;
    const auto version = static_cast<std::uint8_t>(header.version);
    header.version = formats::Version::cdf5;
    questions.push_back(
        HeaderRequest{file.step, formats::encode_header(header), matcher::structure_of(header), version});
  }
  for (RegistryRequest& question : questions) ask(file, std::move(question));
  advance(file);
}

/// Later: the registry may be in the middle of something.
bool WrittenFiles::take(const Answer& answer) {
  if (answer.connection < first_connection) return false;
  boost::asio::post(base_.loop, [this, answer] { go_on(answer); });
  return true;
}

void WrittenFiles::go_on(const Answer& answer) {
  File* const file = find(answer.connection);
  if (file == nullptr) return;
  file->asked.erase(answer.tag);
  if (const auto* const error = std::get_if<ErrorReply>(&answer.reply)) {
    if (answer.tag == file->bytes_tag && file->is_staged) {
      base_.log.event(file->path + " does not count in staging.memory: " + error->text);
    } else {
      return abandon(*file, error->text, error->status);
    }
  } else if (const auto* const created = std::get_if<Created>(&answer.reply)) {
    file->step = created->step;
    if (file->state == File::State::beginning) {
      file->is_in_place ? open_in_place(*file) : answer_opens(*file);
    } else {
      stage(*file);
    }
    return;
  } else if (const auto* const granted = std::get_if<Granted>(&answer.reply)) {
    file->segments[answer.tag] = granted->segment;
  }
  if (file->is_staged) advance(*file);
}

void WrittenFiles::advance(File& file) {
  if (!file.asked.empty()) return;
  if (file.puts && file.puts->is_log && !may_be_log(file)) return make_ordinary_log(file);
  file.puts && !file.puts->is_log ? fill(file) : move_to_disk(file);
}

/// What counts on the spill disk is no memory that processes can map.
bool WrittenFiles::may_be_log(const File& file) const {
  const auto counted = file.segments.find(file.bytes_tag);
  return !file.is_on_disk && counted != file.segments.end() && !matcher::is_spilled(counted->second);
}

void WrittenFiles::make_ordinary_log(File& file) {
  file.puts = with_ordinary_log(*file.puts);
  if (file.puts->data_bytes == 0) return advance(file);
  const std::uint64_t bytes = file.puts->data_bytes;
  file.data_tag = file.last_tag + 1;
  ask(file, SegmentRequest{file.step, SegmentUse::data, bytes, bytes, {}, false, false});
}

void WrittenFiles::fill(File& file) {
  struct Task {
    std::span<std::byte> data;
    std::shared_ptr<const void> mapping;  // shared with the store
    std::string trouble;
  };
  const auto task = std::make_shared<Task>();  // shared by the two functions
  try {
    if (file.data_tag != 0) {
      const matcher::SegmentId segment = file.segments.at(file.data_tag);
      task->data = base_.store.writable(segment);
      task->mapping = base_.store.keep_mapped(segment);
    }
  } catch (const Error& error) {
    return abandon(file, error.what());
  }
  const auto write = [task, held = file.shared_from_this()] {
    try {
      const FileContents contents(held->bytes);
      write_data(*held->puts, contents.bytes(), task->data);
    } catch (const std::exception& error) {
      task->trouble = error.what();
    }
  };
  carry_out(file.puts->data_bytes, write, [this, task, connection = file.connection] {
    File* const filled = find(connection);
    if (filled == nullptr) return;
    task->trouble.empty() ? move_to_disk(*filled) : abandon(*filled, task->trouble);
  });
}

/// Where memory was short, the bytes count on the spill disk, so they go there.
void WrittenFiles::move_to_disk(File& file) {
  const auto counted = file.segments.find(file.bytes_tag);
  if (file.is_on_disk || counted == file.segments.end() || !matcher::is_spilled(counted->second))
    return complete(file);
  struct Task {
    std::shared_ptr<const FileDescriptor> to;  // shared with the store
    FileDescriptor moved;
    std::string trouble;
  };
  const auto task = std::make_shared<Task>();  // shared by the two functions
  try {
    task->to = base_.store.descriptor(counted->second);
  } catch (const Error& error) {
    return abandon(file, error.what());
  }
  const auto move = [task, held = file.shared_from_this()] {
    try {
      task->moved = become(*task->to, held->bytes);
    } catch (const std::exception& error) {
      task->trouble = error.what();
    }
  };
  worker_.submit(move, [this, task, connection = file.connection] {
    File* const moved = find(connection);
    if (moved == nullptr) return;
    moved->is_on_disk = static_cast<bool>(task->moved);
    if (moved->is_on_disk) {
      moved->bytes = std::move(task->moved);
    } else {
      base_.log.event("'" + moved->path + "' stays in memory: " + task->trouble);
    }
    complete(*moved);
  });
}

/// The contents first: readers may be served within the call that publishes.
void WrittenFiles::complete(File& file) {
  const std::uint64_t bytes = file.size;
  PublishRequest publish{file.step, 0, {1, bytes}, {}, {}, {0, 0}, bytes};
  const auto contents = std::make_shared<const FileDescriptor>(std::move(file.bytes));  // shared by readers
  try {
    // The registry gives a file of this size memory of its own, which would take another descriptor.
    if (bytes >= matcher::least_bytes_of_file_log && may_be_log(file))
      base_.store.replace_image(file.segments.at(file.bytes_tag), contents, bytes);
    if (file.puts) {
      const std::uint32_t data_tag = file.puts->is_log ? file.bytes_tag : file.data_tag;
      const matcher::SegmentId data = data_tag == 0 ? 0 : file.segments.at(data_tag);
      publish.position =
          write_table(*file.puts, data, base_.store.writable(file.segments.at(file.table_tag)));
      publish.record_count = file.puts->header.record_count;
      publish.pattern = file.puts->pattern;
      publish.extent = file.puts->extent;
      if (data != 0) publish.ranges.push_back({0, file.puts->first_offset, file.puts->data_bytes, data, 0});
    }
  } catch (const Error& error) {
    return abandon(file, error.what());
  }
  Place& place = places_.at(file.path);
  if (!file.is_in_place) {
    place.step = file.step;
    published_[file.step] = file.path;
    sealed_.add(file.step, contents, file.is_on_disk);
  }
  const std::uint64_t connection = file.connection;
  by_connection_.erase(connection);
  const std::string path = file.path;
  const auto ended = std::move(place.file);
  base_.tree.send_up(ClientRequest{connection, 0, std::move(publish)});
  base_.tree.send_up(ConnectionEnded{connection});
  settle(path);
}

/// Those who want to open the file cannot; no run hears of it.
void WrittenFiles::give_up(File& file, const Error& error) {
  for (const QueuedOpen& open : std::exchange(file.opens, {})) refuse(open, error.status(), error.what());
  if (file.step != 0) base_.tree.send_up(ClientRequest{file.connection, 0, Discard{file.step, true}});
  drop(file);
}

/// Nothing is published; readers wait on, or are told that nothing can come.
void WrittenFiles::abandon(File& file, const std::string& reason, int status) {
  base_.log.event("'" + file.path + "' is not published: " + reason);
  for (const QueuedOpen& open : std::exchange(file.opens, {}))
    refuse(open, status, file.path + ": " + reason);
  if (file.step != 0) base_.tree.send_up(ClientRequest{file.connection, 0, Discard{file.step}});
  drop(file);
}

void WrittenFiles::drop(File& file) {
  const std::uint64_t connection = file.connection;
  if (file.watch >= 0) {
    watch_.remove(file.watch);
    by_watch_.erase(file.watch);
  }
  by_connection_.erase(connection);
  const std::string path = file.path;
  const auto ended = std::move(places_.at(path).file);
  base_.tree.send_up(ConnectionEnded{connection});
  settle(path);
}

/// Who has waited for the end of a file that was published goes on.
void WrittenFiles::settle(const std::string& path) {
  serve_queued(path);
  tidy(path);
  for (Ending& ending : std::exchange(endings_, {})) end_component(ending.component, std::move(ending.then));
}

void WrittenFiles::serve_queued(const std::string& path) {
  const auto place = places_.find(path);
  if (place == places_.end()) return;
  const auto waiting = std::exchange(place->second.waiting, {});
  const auto queued = std::exchange(place->second.queued, {});
  for (const QueuedOpen& open : queued) open_now(open);
  for (const auto& then : waiting) boost::asio::post(base_.loop, then);
}

void WrittenFiles::tidy(const std::string& path) {
  const auto place = places_.find(path);
  if (place == places_.end() || place->second.file || place->second.step != 0 ||
      !place->second.queued.empty())
    return;
  places_.erase(place);
}

void WrittenFiles::read(const FileRange& range, MemoryReceiver receiver) {
  const auto read = std::make_shared<MemoryRead>();  // shared by the two functions
  SharedFile contents;
  try {
    contents = sealed_.open(range.step);
    if (contents == nullptr) throw Error(NC_EIO, "the step has ended, or was not written as a file here");
  } catch (const Error& error) {
    read->outcome = {error.status(), error.what()};
    return receiver(std::move(*read));
  }
  const auto work = [read, range, contents] {
    read->bytes.resize(range.bytes);
    const int trouble = read_range(*contents, range.offset, read->bytes);
    if (trouble != 0)
      read->outcome = {NC_EIO, std::string("the file cannot be read: ") + std::strerror(trouble)};
  };
  const auto then = [read, receiver = std::move(receiver)] { receiver(std::move(*read)); };
  if (sealed_.is_on_disk(range.step)) return worker_.submit(work, then);
  work();
  then();
}

bool WrittenFiles::give_image(Client& client, std::uint32_t tag, const ImageRequest& request) {
  if (!client.process->has_open(request.step) || !sealed_.contains(request.step)) return false;
  try {
    const SharedFile file = contents(request.step);
    clients_.send_image(client, tag, {file_size(*file)}, file);
  } catch (const Error& error) {
    clients_.send_error(client, tag, error.status(), error.what());
  }
  return true;
}

bool WrittenFiles::is_publishing(const std::string& path) {
  if (by_connection_.empty()) return false;
  watch_.take_news();
  const auto place = places_.find(path);
  return place != places_.end() && place->second.file &&
         (place->second.file->state == File::State::closing ||
          place->second.file->state == File::State::publishing);
}

void WrittenFiles::when_published(const std::string& path, std::function<void()> then) {
  places_.at(path).waiting.push_back(std::move(then));
}

void WrittenFiles::forget(matcher::StepId step) {
  const auto found = published_.extract(step);
  if (found.empty()) return;
  const std::string& path = found.mapped();
  const auto place = places_.find(path);
  if (place != places_.end() && place->second.step == step) {
    place->second.step = 0;
    tidy(path);
  }
  // The disk may take its time to give back the space.
  const bool is_on_disk = sealed_.is_on_disk(step);
  SharedFile ended = sealed_.erase(step);
  if (is_on_disk) worker_.submit([file = std::move(ended)] {});
}

void WrittenFiles::end_component(const std::string& component, std::function<void()> then) {
  watch_.take_news();
  std::vector<std::uint64_t> connections;
  for (const auto& [connection, file] : by_connection_) {
    if (file->component == component) connections.push_back(connection);
  }
  bool is_busy = false;
  for (const std::uint64_t connection : connections) {
    File* file = find(connection);
    if (file == nullptr) continue;
    const bool is_in_doubt = file->state == File::State::open && file->doubt != 0;
    if (is_in_doubt && !is_open_somewhere(*file)) closed_all(*file);
    file = find(connection);
    if (file == nullptr) continue;
    if (file->state == File::State::open && is_open_somewhere(*file)) {
      abandon(*file, "a process that has outlived " + component + " still has it open");
    } else if (file->state == File::State::open && file->closes_wanted == 0) {
      publish(*file);
      if (find(connection) == file && file->state == File::State::open)
        abandon(*file, "a process that has outlived " + component + " has opened it");
    } else if (file->state == File::State::open) {
      abandon(*file, component + " has closed it " + std::to_string(file->closes) +
                         " times, and the rule says 'publish: close:" + std::to_string(file->closes_wanted) +
                         "'");
    } else if (file->state == File::State::beginning) {
      abandon(*file, component + " has ended");
    }
    is_busy = is_busy || find(connection) != nullptr;
  }
  if (!is_busy) return then();
  endings_.push_back({component, std::move(then)});
}

WrittenFiles::File* WrittenFiles::find(std::uint64_t connection) {
  const auto found = by_connection_.find(connection);
  return found == by_connection_.end() ? nullptr : found->second;
}

}  // namespace sluice::runtime
