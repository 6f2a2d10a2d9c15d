#include "written_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstring>
#include <utility>

#include "memory_file.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/name_marks.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/runtime/wire.hpp"
#include "written_file_states.hpp"

namespace sluice::runtime {

namespace {

/// What the paths of its files begin with.
std::string prefix_of(const std::string& directory) {
  return directory.ends_with('/') ? directory : directory + '/';
}

bool is_for_writing(std::uint32_t flags) noexcept {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
}

}  // namespace

WrittenFiles::WrittenFiles(MatcherBase& base, ClientConnections& clients, PublishedFiles& published)
    : base_(base),
      clients_(clients),
      published_(published),
      writers_(
          base.loop, [this](std::span<const std::uint32_t> processes) { clients_.take_sent(processes); },
          [this](const FileWriters::News& news) { take(news); }),
      bytes_(base.loop, base.store),
      steps_(base, bytes_) {
  if (base.nodes.size() > 1) base_.names.stop();  // the registry alone knows what is newest
}

WrittenFiles::~WrittenFiles() = default;

WrittenFiles::File* WrittenFiles::find(FileId id) {
  const auto found = files_.find(id);
  return found == files_.end() ? nullptr : &found->second;
}

// Opening

/// What was closed before counts before.
void WrittenFiles::open(Client& client, std::uint32_t tag, const OpenFile& request) {
  const ClientId id = client.id;
  writers_.take_news();  // may take messages of the client, and end it
  QueuedOpen open{id, tag, request};
  open.wants_facts = (request.flags & O_PATH) != 0;
  open.request.flags &= ~static_cast<std::uint32_t>(O_PATH);
  open.is_put_in_place = request.is_by_mpi_io && is_for_writing(request.flags) && base_.nodes.size() > 1;
  if (open.is_put_in_place) open.request.is_in_place = open.request.is_in_files = true;
  if (!request.is_adopted || !is_taken_back(id, tag, request)) open_now(open);
}

void WrittenFiles::open_now(const QueuedOpen& open) {
  const OpenFile& request = open.request;
  const auto has = [&](int flag) { return (request.flags & static_cast<std::uint32_t>(flag)) != 0; };
  const auto known = places_.find(request.path);
  const bool is_there = known != places_.end() && (known->second.file != 0 || known->second.step != 0);
  const bool is_made = has(O_CREAT) && !request.is_on_disk;
  if (!is_there && request.is_in_place && !is_for_writing(request.flags) && !is_made)
    return leave_to_disk(open);
  const bool is_written = known != places_.end() && known->second.file != 0;
  // With several matchers the registry alone knows what is newest.
  const bool is_known = open.is_put_in_place || base_.nodes.size() > 1 ? is_written : is_there;
  if (!is_known && may_be_elsewhere(open)) return look_elsewhere(open);
  const bool is_here = open.has_looked ? is_written : is_there;
  const bool exists = is_here || request.is_on_disk || open.base != nullptr;
  if (has(O_CREAT) && has(O_EXCL) && exists)
    return refuse(open, NC_EEXIST, request.path + " exists, and O_EXCL was given");
  if (!has(O_CREAT) && !exists && !request.is_in_place)
    return refuse(open, NC_ENOENT, request.path + " is not there");
  try {
    if (!is_here && exists && !is_for_writing(request.flags)) return give_found(open);
    Place& place = places_[request.path];
    place.key = request.key;
    if (request.is_renamed) leave_links(request.path, place);  // another file gets the name
    open_at(place, open);
  } catch (const Error& error) {
    refuse(open, error.status(), error.what());
  }
  tidy(request.path);
}

void WrittenFiles::read(const FileRange& range, MemoryReceiver receiver) {
  const File* const file = range.file == 0 ? nullptr : find(range.file);
  if (file == nullptr)
    return published_.read(range, nullptr, published_.is_on_disk(range.step), std::move(receiver));
  if (file->state != File::State::beginning)
    return published_.read(range, file->bytes.file, file->bytes.is_on_disk, std::move(receiver));
  places_.at(file->path).queued.push_back([this, range, receiver] { read(range, receiver); });
}

std::shared_ptr<const UserRights> WrittenFiles::rights_of(ClientId id) {
  const Client* const client = clients_.find(id);
  return client == nullptr ? nullptr : client->rights;
}

/// Where the client's user may not make, replace or remove the name, throws as the kernel refuses that.
void WrittenFiles::expect_may_change(ClientId client, const std::string& path) {
  const auto user = rights_of(client);
  if (user == nullptr) return;
  const auto known = places_.find(path);
  const File* const file = known == places_.end() ? nullptr : find(known->second.file);
  const matcher::StepId step = known == places_.end() ? 0 : known->second.step;
  const SharedFile there = file != nullptr ? file->bytes.file : published_.contents(step);
  struct stat facts {};
  const bool is_there =
      there != nullptr ? ::fstat(there->number(), &facts) == 0 : ::lstat(path.c_str(), &facts) == 0;
  user->expect_may_change(path, is_there ? facts.st_uid : no_user);
}

/// By its permissions. Of a file in place the disk knows them.
bool WrittenFiles::may_be_written(const QueuedOpen& open) {
  const OpenFile& request = open.request;
  if (request.is_in_place || request.is_renamed) return true;
  const Place& place = places_.at(request.path);
  const File* const file = find(place.file);
  SharedFile there = file != nullptr ? file->bytes.file : open.base;
  if (file == nullptr && !open.has_looked) there = published_.contents(place.step);
  const ActingAs user(rights_of(open.client).get());
  if (there != nullptr) return may_be_opened(*there, request.flags);
  return file != nullptr || !request.is_on_disk ||
         ::faccessat(AT_FDCWD, request.path.c_str(), W_OK, AT_EACCESS) == 0;
}

void WrittenFiles::open_at(Place& place, const QueuedOpen& open) {
  const std::uint32_t flags = open.request.flags;
  if (is_for_writing(flags) && !may_be_written(open))
    throw Error(NC_EPERM, "the permissions of " + open.request.path + " allow no writing");
  File* const file = find(place.file);
  if (file != nullptr && open.request.is_renamed && is_open(*file)) {
    const bool is_written = writers_.is_open(file->id);
    if (is_written || file->bytes.is_in_place || open.request.is_adopted) return replace(*file, open);
  }
  if (file != nullptr && file->state == File::State::beginning) {
    file->opens.push_back(open);
    // A copy that nobody has changed goes: what a program sets by its name has to be in the file that stays.
  } else if (file != nullptr && (is_open(*file) || (!is_for_writing(flags) &&
                                                    (file->bytes.base == nullptr || file->is_compared)))) {
    (void)give(*file, open);
  } else if (file != nullptr) {
    queue(place, open);
  } else if (is_for_writing(flags) || place.step == 0) {
    // What is written has to be in the file of all names, so each has to be published by now.
    Place* const other = busy_link(place);
    if (other == nullptr) return begin(place, open);
    queue(*other, open);
  } else if (Client* const client = clients_.find(open.client)) {
    const SharedFile there = published_.contents(place.step);
    hand_over(*client, open, reopened_for(client->rights.get(), *there, flags));
  }
}

void WrittenFiles::queue(Place& place, const QueuedOpen& open) {
  place.queued.push_back([this, open] { open_now(open); });
  place.openers.push_back(open.client);
}

void WrittenFiles::add_held_up(matcher::LookRequest& look) {
  for (const auto& [path, place] : places_) {
    if (place.openers.empty() || !steps_.is_waiting(place.file)) continue;
    for (const ClientId id : place.openers) {
      const Client* const opener = clients_.find(id);
      if (opener != nullptr && opener->process->component == look.component)
        look.processes.push_back(opener->process->process_id);
    }
  }
}

/// Whoever has it open goes on in a file without a name.
void WrittenFiles::replace(File& file, const QueuedOpen& open) {
  const std::uint32_t closes = file.closes;
  take_name(open.request.path, was_replaced);
  Place& anew = places_[open.request.path];
  anew.key = open.request.key;
  open_at(anew, open);
  if (File* const next = find(places_[open.request.path].file); next != nullptr) next->closes = closes;
}

/// Whether somebody can write to it, or may open it for that.
bool WrittenFiles::is_open(const File& file) const {
  return file.state == File::State::open && !writers_.are_asked(file.id);
}

/// Whether the open depends on what this matcher does not know.
bool WrittenFiles::may_be_elsewhere(const QueuedOpen& open) const {
  const auto has = [&](int flag) { return (open.request.flags & static_cast<std::uint32_t>(flag)) != 0; };
  const bool has_to_exist = !has(O_TRUNC) || has(O_EXCL) || !has(O_CREAT);
  return (!open.request.is_in_place || open.is_put_in_place) && !open.has_looked && has_to_exist;
}

/// The file is on disk, as its last writer has left it.
void WrittenFiles::leave_to_disk(const QueuedOpen& open) {
  if (Client* const client = clients_.find(open.client))
    clients_.send(*client, MessageType::file_opened, open.tag, encode(FileOpened{true}));
}

/// For reading: what the registry has, or else the disk.
void WrittenFiles::give_found(const QueuedOpen& open) {
  if (open.base == nullptr) return leave_to_disk(open);
  if (Client* const client = clients_.find(open.client))
    hand_over(*client, open, reopened_for(client->rights.get(), *open.base, O_RDONLY));
}

void WrittenFiles::hand_over(Client& client, const QueuedOpen& open, SharedFile own) {
  clients_.send(client, MessageType::file_opened, open.tag, encode(opened_at(open)), {std::move(own)});
}

/// The component may have written it by PnetCDF, or on another node. Who reads it gets it; who writes it goes
/// on with it.
void WrittenFiles::look_elsewhere(const QueuedOpen& open) {
  // Later: the registry may be in the middle of something.
  look(open, Open::Which::growing, [this, open](const SharedFile& found) {
    QueuedOpen next = open;
    next.has_looked = true;
    next.base = found;
    boost::asio::post(base_.loop, [this, next] { open_now(next); });
  });
}

/// Asks the registry for the bytes of the name.
void WrittenFiles::look(const QueuedOpen& open, Open::Which which, Found then) {
  const OpenFile& name = open.request;
  Client* const client = clients_.find(open.client);
  if (client == nullptr) return;
  Client::ImageRead& look = client->image_reads[open.tag];
  look.wants_facts = open.wants_facts;
  look.then = std::move(then);
  const Member alone{random_number() >> 1, 0, 1, false};
  if (name.is_in_place) which = Open::Which::last;
  look.own = Open{name.key, alone, name.path, Purpose::read, which};
  look.own->is_on_disk = name.is_on_disk;
  base_.tree.send_up(ClientRequest{open.client, open.tag, *look.own});
}

/// A file that loses its bytes keeps its permissions and its owner.
struct stat WrittenFiles::facts_before(const Place& place, const QueuedOpen& open) {
  struct stat facts {};
  const SharedFile known = open.base != nullptr ? open.base : published_.contents(place.step);
  if (known != nullptr) return status_of(*known);
  if (open.request.is_on_disk && ::stat(open.request.path.c_str(), &facts) == 0) return facts;
  facts.st_mode = open.request.permissions;
  note_user(rights_of(open.client).get(), facts);
  return facts;
}

/// A new file, or a copy of the one before.
void WrittenFiles::begin(Place& place, const QueuedOpen& open) {
  const OpenFile& request = open.request;
  Client* const client = clients_.find(open.client);
  if (client == nullptr) return;
  const bool goes_on = (request.flags & O_TRUNC) == 0;
  if (!goes_on) place.closes = 0;
  const bool has_base = goes_on && (!request.is_in_place || open.is_put_in_place);
  const SharedFile own = has_base && !open.has_looked ? published_.contents(place.step) : nullptr;
  const SharedFile base = has_base && own == nullptr ? open.base : own;
  const bool is_anew = base == nullptr && place.step == 0 && !request.is_on_disk;
  if (is_anew) expect_may_change(open.client, request.path);
  const FileId id = steps_.connect(*client->process);
  File& file = files_[id];
  file.id = id;
  file.path = request.path;
  file.key = request.key;
  const LocalProcess& writer = *client->process;
  file.writer = {writer.id, writer.component, writer.token, writer.process_id};
  file.bytes.is_in_place = request.is_in_place;
  file.goes_on = goes_on;  // also what is renamed to its place: NCO adds to a copy of the file
  file.is_in_files = request.is_in_files;
  file.is_elsewhere = own == nullptr && base != nullptr;
  file.closes_wanted = request.closes;
  file.is_shown_at_sync = request.is_shown_at_sync;
  file.save_in = request.save_in;
  file.opens.push_back(open);
  place.file = id;
  take_linked_names(file, place);
  change(file);
  tell_names(file);
  file.bytes.base = base;
  // When the registry knows of it, the bytes are on the disk, and other matchers need not put them there.
  if (open.is_put_in_place) return begin_in_place(file);
  // In place: first, because readers may have the former contents open.
  if (request.is_in_place) return create(file, [this](const File& created) { begin_in_place(created); });
  struct stat before {};
  const bool is_empty = !goes_on || is_anew;
  if (is_empty) before = facts_before(place, open);
  const auto begun = [this, id, before, is_empty](FileBytes bytes, const Outcome& outcome) {
    if (is_empty && bytes.file != nullptr) set_owner(*bytes.file, before);
    take_begun(id, std::move(bytes), outcome);
  };
  if (request.is_adopted) return bytes_.adopt(request, begun);
  OpenFile anew = request;
  if (!goes_on) anew.permissions = before.st_mode;
  bytes_.begin(anew, base, begun);
}

void WrittenFiles::begin_in_place(const File& file) {
  bytes_.begin_in_place(file.opens.front().request, file.bytes.base, rights_of(file.opens.front().client),
                        [this, id = file.id](FileBytes bytes, const Outcome& outcome) {
                          take_begun(id, std::move(bytes), outcome);
                        });
}

void WrittenFiles::take_begun(FileId id, FileBytes bytes, const Outcome& outcome) {
  File* const file = find(id);
  if (file == nullptr) return;
  if (outcome.is_failure()) return give_up(*file, outcome);
  file->bytes = std::move(bytes);
  try {
    writers_.add(id, file->bytes);
    if (file->bytes.is_adopted) writers_.note_open(id);
    mark_names(file->path);
  } catch (const Error& error) {
    return give_up(*file, {error.status(), error.what()});
  }
  steps_.step(id) != 0 ? answer_opens(*file) : begin_contents(*file);
}

/// The registry hears of a copy only when it has changed: programs open files for writing, just to look.
void WrittenFiles::begin_contents(File& file) {
  const auto answer = [this](File& created) { answer_opens(created); };
  if (file.bytes.base == nullptr) return create(file, answer);
  const auto go_on = [this, answer, id = file.id](const Outcome& outcome) {
    File* const copied = find(id);
    if (copied == nullptr) return;
    if (outcome.is_failure()) return abandon(*copied, outcome.text);
    if (copied->opens.front().request.is_adopted) copied->bytes.base = nullptr;  // a file of its own
    // The registry knows whether it may be written here.
    const bool asks_first = copied->is_elsewhere && base_.nodes.size() > 1;
    asks_first ? create(*copied, answer) : answer(*copied);
  };
  try {
    bytes_.copy_base(file.bytes, go_on);
  } catch (const Error& error) {
    give_up(file, {error.status(), error.what()});
  }
}

void WrittenFiles::create(const File& file, std::function<void(File&)> then) {
  const Member alone{random_number() >> 1, 0, 1, false};
  Open create{file.key, alone, file.path, Purpose::create};
  create.version = 0;
  create.goes_on = file.goes_on;
  create.is_in_place = file.bytes.is_in_place;
  create.is_on_disk = !file.at_end.empty() && file.draft == 0;  // it takes its name from whoever has it
  steps_.create(file.id, std::move(create),
                [this, id = file.id, then = std::move(then)](const Outcome& outcome) {
                  File* const created = find(id);
                  if (created == nullptr) return;
                  if (!outcome.is_failure()) return then(*created);
                  const bool is_written = created->state == File::State::publishing;
                  is_written ? lose(*created, outcome.text) : abandon(*created, outcome.text, outcome.status);
                });
}

void WrittenFiles::answer_opens(File& file) {
  file.state = File::State::open;
  const FileId id = file.id;
  bool is_given = false, is_refused = false;
  for (const QueuedOpen& open : std::exchange(file.opens, {})) {
    try {
      is_given = give(file, open, file.bytes.base == nullptr && !file.bytes.before && !is_given) || is_given;
    } catch (const Error& error) {
      refuse(open, error.status(), error.what());
      is_refused = true;
    }
  }
  if (is_given || find(id) == nullptr) return settle_if_open(id);
  is_refused ? end_without_step(file) : abandon(file, "the process that has opened it has ended");
}

/// Whether somebody can write now. It is opened here, so that the file counts as open for writing from now
/// on, and not only when the process has got the descriptor.
bool WrittenFiles::give(File& file, const QueuedOpen& open, bool is_new) {
  Client* const client = clients_.find(open.client);
  if (client == nullptr) return false;
  const std::uint32_t flags = open.request.flags;
  const auto own = is_new ? reopened_by_owner(*file.bytes.file, flags)
                          : reopened_for(client->rights.get(), *file.bytes.file, flags);
  const bool may_write = is_for_writing(open.request.flags) || is_new;
  if (may_write) {
    const bool is_for_reading = (open.request.flags & O_ACCMODE) == O_RDONLY;
    writers_.note_given(file.id, client->process->process_id, is_for_reading);
    const bool is_ending =
        std::ranges::find(ending_processes_, client->process->token) != ending_processes_.end();
    if (is_ending) writers_.note_left(client->process->process_id);
    file.closes_wanted = open.request.closes;
  }
  hand_over(*client, open, own);
  return may_write;
}

/// The kernel counts the names of files on disk.
FileOpened WrittenFiles::opened_at(const QueuedOpen& open) const {
  const auto known = places_.find(open.request.path);
  std::uint32_t names = 1;
  if (known != places_.end() && known->second.links != nullptr)
    names = static_cast<std::uint32_t>(known->second.links->size());
  else if (open.base != nullptr)
    names = matcher::names_of_mark(mark_of(*open.base));
  return {false, names,
          open.request.is_in_place || open.base != nullptr ? 0 : base_.names.of(open.request.path)};
}

/// The file's paths lead to other bytes from now on.
void WrittenFiles::change(const File& file) noexcept {
  for (const std::string& path : names_of(file)) base_.names.change(path);
}

void WrittenFiles::refuse(const QueuedOpen& open, int status, const std::string& text) {
  if (status == NC_ENFILE) note_no_descriptor(open.request.path, "cannot be opened");
  if (Client* const client = clients_.find(open.client)) clients_.send_error(*client, open.tag, status, text);
}

/// It is told once: many opens may fail one after the other.
void WrittenFiles::note_no_descriptor(const std::string& path, const std::string& effect) {
  if (std::exchange(has_told_of_descriptors_, true)) return;
  base_.log.event("'" + path + "' " + effect +
                  ": the matcher has no file descriptor left. Raise the hard limit (ulimit -Hn)");
}

/// The registry always hears of it, because it also knows what the component has written by PnetCDF, or on
/// another node. A file that is being written with O_TRUNC has replaced that.
void WrittenFiles::remove(Client& client, std::uint32_t tag, const Open& request) {
  try {
    expect_may_change(client.id, request.path);
  } catch (const Error& error) {
    return clients_.send_error(client, tag, error.status(), error.what());
  }
  Open removal = request;
  removal.is_on_disk = written_at(request.path) != nullptr;
  base_.names.change(request.path);
  take_name(request.path, "it was removed");
  tidy(request.path);
  base_.tree.send_up(ClientRequest{client.id, tag, std::move(removal)});
}

/// On disk a file is there from its open on.
Listing WrittenFiles::list(const ListRequest& request) const {
  static constexpr std::size_t most_in_a_part = 1000;
  Listing listing;
  const std::string directory = prefix_of(request.directory);
  auto place = request.after ? places_.upper_bound(request.after->name) : places_.lower_bound(directory);
  for (std::size_t count = 0; place != places_.end() && place->first.starts_with(directory); ++place) {
    const auto& [path, known] = *place;
    if (count++ == most_in_a_part) break;
    listing.last = DatasetKey{0, path};
    if (path.find('/', directory.size()) != std::string::npos) continue;
    const auto file = files_.find(known.file);
    const bool is_written =
        file != files_.end() && !file->second.bytes.is_in_place;  // else the disk shows it
    if (known.step != 0 || is_written) listing.files.push_back({known.key, {}, path, known.step});
  }
  if (place == places_.end() || !place->first.starts_with(directory)) listing.last.reset();
  return listing;
}

// Closing

void WrittenFiles::note(const Client& client, const FileHolder& note) {
  if (note.holds || note.is_by_exec || !note.files.empty())
    return writers_.note(client.process->process_id, note);
  constexpr std::size_t most_known = 256;
  ending_processes_.push_back(client.process->token);
  if (ending_processes_.size() > most_known) ending_processes_.pop_front();
  writers_.note_left(client.process->process_id);
}

void WrittenFiles::take(const FileWriters::News& news) {
  File* const file = find(news.file);
  if (file == nullptr) return;
  file->bytes.touched = news.touched;
  if (news.verdict == FileWriters::Verdict::killed) {
    return end_unclosed(*file, "process " + std::to_string(news.process) + " of " + file->component() +
                                   " was killed before it had closed it");
  }
  if (news.verdict == FileWriters::Verdict::closed) ++file->closes;
  const bool is_last = news.verdict == FileWriters::Verdict::closed && file->closes_wanted != 0 &&
                       file->closes >= file->closes_wanted;
  if (is_last) publish(*file);
  if (news.verdict == FileWriters::Verdict::closed && !is_last) land(*file);
  if (File* const left = find(news.file)) answer_landed(*left);
  settle_if_open(news.file);
}

/// Its writers have not closed it as they should, and nobody has it open any more. Where nothing was changed,
/// nothing is lost: programs open files for writing, just to look.
void WrittenFiles::end_unclosed(File& file, const std::string& reason) {
  if (file.bytes.is_in_place) return is_as_before(file) ? end_without_step(file) : lose(file, reason);
  bool can_be_compared = false;
  try {
    can_be_compared = file.bytes.base != nullptr && can_be_sealed(file);
  } catch (const Error&) {  // no descriptor is left
  }
  if (!can_be_compared) return lose(file, reason);
  begin_publishing(file);
  bytes_.examine(file.bytes, file.path, false,
                 [this, reason, id = file.id](const WrittenBytes::Examined& found) {
                   File* const known = find(id);
                   if (known == nullptr) return;
                   found.is_unchanged ? end_without_step(*known) : lose(*known, reason);
                 });
}

/// Whether nobody can write any more. A file on disk cannot be sealed. One that may be spare later is sealed
/// when the first process but its writers gets it.
bool WrittenFiles::can_be_sealed(const File& file) const {
  if (file.bytes.is_on_disk) return !writers_.is_open(file.id);
  return WrittenBytes::may_be_spare(file.bytes) || seal(*file.bytes.file);
}

void WrittenFiles::publish(File& file) {
  if (file.is_syncing) {
    file.after_sync.emplace_back([this, id = file.id] {
      if (File* const synced = find(id)) publish(*synced);
    });
    return;
  }
  // Where somebody has opened it by now, it will be closed once more.
  try {
    if (!can_be_sealed(file)) return writers_.note_open(file.id);
  } catch (const Error&) {
    return publish_later(file);
  }
  begin_publishing(file);
  file.bytes.is_adopted ? take_into_memory(file) : end_written(file);
}

/// Nobody can write any more.
void WrittenFiles::end_written(File& file) {
  if (!file.landings.empty()) return land(file);
  file.size = file_size(*file.bytes.file);
  bytes_.note_size(file.key.rule, file.size);  // the writer may begin the next one now
  file.bytes.is_in_place ? end_in_place(file) : examine(file);
}

/// Who opens it waits at the registry from now on.
void WrittenFiles::begin_publishing(File& file) {
  writers_.remove(file.id);
  file.state = File::State::publishing;
  tell_names(file);
  for (const std::string& path : names_of(file)) wake_waiting(places_.at(path));
}

void WrittenFiles::tell_names(const File& file) {
  FileNames names{file.id, {}, file.state == File::State::publishing, file.bytes.is_in_place};
  if (!file.is_nameless) names.keys.push_back(file.key);
  for (const Name& name : file.more_names) names.keys.push_back(name.key);
  base_.tree.send_up(std::move(names));
}

void WrittenFiles::wake_waiting(Place& place) {
  for (auto& then : std::exchange(place.waiting, {})) boost::asio::post(base_.loop, std::move(then));
}

/// Sealing takes a descriptor for a moment. Others will give some back.
void WrittenFiles::publish_later(File& file) {
  static constexpr std::chrono::milliseconds wait(20);
  note_no_descriptor(file.path, "is published later");
  file.state = File::State::waiting;
  const auto timer = std::make_shared<boost::asio::steady_timer>(base_.loop, wait);  // shared with its wait
  timer->async_wait([this, timer, id = file.id](const boost::system::error_code& error) {
    File* const waiting = error ? nullptr : find(id);
    if (waiting == nullptr || waiting->state != File::State::waiting) return;
    waiting->state = File::State::open;
    publish(*waiting);
    settle_if_open(id);
  });
}

/// A reader may have taken the step before for the whole file. It is told once a rule: some programs add to a
/// file all the time.
void WrittenFiles::note_continued(const File& file) {
  if (file.closes_wanted != 1 || file.is_shown_at_sync || !continued_.insert(file.key.rule).second) return;
  const std::uint32_t closes = places_.at(file.path).closes + file.closes;  // 1: by its present name
  const std::string number = std::to_string(closes);
  base_.log.event(file.component() + " has gone on in '" + file.path +
                  "', which was published when it was closed before" +
                  (closes > 1 ? ", and has closed it " + number + " times now" : "") +
                  ": readers may have taken a part for the whole file. If they should wait, give the rule " +
                  (closes > 1 ? "'publish: close:" + number + "' if it closes each file so often, or " : "") +
                  "'publish: exit'");
}

/// Programs that read by the C library may know better, so the file is published all the same. Whoever looks
/// at the terminal is told once a rule, and the event log has each file.
void WrittenFiles::note_damage(const File& file, const std::string& damage) {
  const std::string text = file.component() +
                           " has written a file that begins as a CDF file, and is none: " + damage +
                           ". PnetCDF programs get NC_ENOTNC for it, and all others its bytes. See whether " +
                           file.component() + " has closed it properly, or compare with ncdump -h";
  damaged_.insert(file.key.rule).second ? base_.log.event(text) : base_.log.detail(text);
}

/// The bytes are where they belong. Who has opened the file just to look has changed nothing.
void WrittenFiles::end_in_place(const File& file) {
  if (is_as_before(file)) return end_without_step(file);
  if (steps_.step(file.id) != 0) return complete(file);
  create(file, [this](const File& created) { complete(created); });
}

/// In place.
bool WrittenFiles::is_as_before(const File& file) const {
  return file.bytes.before && *file.bytes.before == state_of(*file.bytes.file);
}

/// It was written on the disk, by another name.
void WrittenFiles::take_into_memory(const File& file) {
  bytes_.copy(file.name(), file.bytes.file, [this, id = file.id](FileBytes made, const Outcome& outcome) {
    File* const taken = find(id);
    if (taken == nullptr) return;
    if (outcome.is_failure()) return lose(*taken, outcome.text);
    change(*taken);
    taken->bytes = std::move(made);
    taken->bytes.base = nullptr;
    end_written(*taken);
  });
}

void WrittenFiles::examine(const File& file) {
  bytes_.examine(file.bytes, file.path, !file.is_in_files,
                 [this, id = file.id](const WrittenBytes::Examined& found) {
                   File* const known = find(id);
                   if (known == nullptr) return;
                   if (found.is_unchanged) bytes_.keep_spare(known->path, known->bytes, {});
                   if (found.is_unchanged) return end_without_step(*known);
                   if (found.outcome.is_failure()) return lose(*known, found.outcome.text);
                   known->is_compared = true;
                   for (const std::string& name : names_of(*known)) serve_queued(name);
                   if (find(id) == nullptr) return;
                   known->changed = found.changed;
                   if (!found.damage.empty()) note_damage(*known, found.damage);
                   if (known->goes_on && places_.at(known->path).step != 0) note_continued(*known);
                   if (steps_.step(id) != 0) return fill(*known, found.puts);
                   create(*known, [this, puts = found.puts](const File& created) { fill(created, puts); });
                 });
}

void WrittenFiles::fill(const File& file, const std::shared_ptr<const FilePuts>& puts) {
  const FileId id = file.id;
  if (file.is_in_files) {
    return bytes_.write_to_disk(
        file.bytes, file.path,
        [this, id, bytes = file.bytes](const Outcome& outcome) { end_filling(id, bytes, outcome); });
  }
  steps_.fill(
      id, {file.path, file.bytes, file.size, puts},
      [this, id](FileBytes bytes, const Outcome& outcome) { end_filling(id, std::move(bytes), outcome); });
}

void WrittenFiles::end_filling(FileId id, FileBytes bytes, const Outcome& outcome) {
  File* const filled = find(id);
  if (filled == nullptr) return;
  if (filled->bytes.file != bytes.file) change(*filled);
  filled->bytes = std::move(bytes);
  outcome.is_failure() ? lose(*filled, outcome.text) : complete(*filled);
}

/// The contents first: readers may be served within the call that publishes.
void WrittenFiles::complete(const File& file) {
  const FileId id = file.id;
  const FileSteps::Size size{file.size, file.bytes.is_in_place ? file.size : size_of(file.changed)};
  const std::uint32_t closes = places_.at(file.path).closes + file.closes;
  if (file.bytes.is_in_place) {
    places_.at(file.path).step = 0;
  } else {
    const matcher::StepId step = steps_.step(id);
    if (file.draft != 0 || outdated_.contains(step)) change(file);
    const File* const draft = find(file.draft);
    published_.keep_until_drained(step, {draft != nullptr ? draft->saved : file.saved, draft != nullptr},
                                  places_.at(file.path).step);
    places_.at(file.path).step = outdated_.erase(step) != 0 ? 0 : step;
    paths_[step] = file.path;
    published_.add(step, file.bytes.file, file.bytes.is_on_disk);
  }
  File ended = take_out(id);
  bytes_.keep_spare(ended.path, ended.bytes, std::move(ended.changed));
  publish_other_names(ended);  // who has waited for them finds these
  steps_.publish(id, size, closes);
  settle(ended, {});
}

/// Those who want to open the file cannot; no run hears of it.
void WrittenFiles::give_up(File& file, const Outcome& outcome) {
  for (const QueuedOpen& open : std::exchange(file.opens, {})) refuse(open, outcome.status, outcome.text);
  end_without_step(file, StepEnd::untouched, outcome.text);
}

/// Nothing is published; readers wait on, or are told that nothing can come. The program knows it, or has
/// given the file up.
void WrittenFiles::abandon(File& file, const std::string& reason, int status) {
  base_.log.event("'" + file.path + "' is not published: " + reason);
  for (const QueuedOpen& open : std::exchange(file.opens, {}))
    refuse(open, status, file.path + ": " + reason);
  end_without_step(file, StepEnd::aborted, reason);
}

/// The same, and the run has failed: what the program has written is gone.
void WrittenFiles::lose(const File& file, const std::string& reason) {
  const std::string rest =
      file.bytes.is_in_place ? "; the part of " + file.path + " that it has written is kept" : "";
  base_.log.event("'" + file.path + "' is not published: " + reason + rest);
  if (!file.saved.empty() && !published_.has_saved(shown_step(file)))
    base_.log.event("'" + file.path +
                    "' can be had as it was at its last fsync: when the run has ended, "
                    "'sluice recover " +
                    storage::directory_of(file.saved) + "' makes the file");
  end_without_step(file, StepEnd::lost, reason);
}

void WrittenFiles::end_without_step(const File& file, StepEnd end, const std::string& reason) {
  const FileId id = file.id;
  const Discard discard{0, end, reason, file.key};
  published_.end_saved(shown_step(file), file.saved, end == StepEnd::lost);
  change(file);
  const File ended = take_out(id);
  steps_.discard(id, discard);
  settle(ended, {NC_EIO, reason});
}

/// The file is no more.
WrittenFiles::File WrittenFiles::take_out(FileId id) {
  writers_.remove(id);
  auto ended = files_.extract(id);
  for (const std::string& path : names_of(ended.mapped())) {
    Place& place = places_.at(path);
    const File* const draft = find(ended.mapped().draft);
    if (place.file == id) place.file = draft != nullptr && draft->path == path ? draft->id : 0;
    place.closes += ended.mapped().closes;
  }
  return std::move(ended.mapped());
}

/// It is not published now: somebody writes on, or will open it again.
void WrittenFiles::settle_if_open(FileId id) {
  const File* const file = find(id);
  if (file == nullptr || file->state != File::State::open) return;
  for (const std::string& path : names_of(*file)) serve_queued(path);
  settle_endings();
}

/// Who has waited for the end of a file that was published goes on.
void WrittenFiles::settle(const File& ended, const Outcome& outcome) {
  for (const std::string& path : names_of(ended)) {
    serve_queued(path);
    tidy(path);
  }
  for (const auto& then : ended.at_landing) then();
  for (const auto& then : ended.at_end) then(outcome);
  settle_endings();
}

void WrittenFiles::settle_endings() {
  for (Ending& ending : std::exchange(endings_, {})) end_component(ending.component, std::move(ending.then));
}

void WrittenFiles::serve_queued(const std::string& path) {
  const auto place = places_.find(path);
  if (place == places_.end()) return;
  wake_waiting(place->second);
  place->second.openers.clear();
  const auto queued = std::exchange(place->second.queued, {});
  for (const auto& go_on : queued) go_on();
}

void WrittenFiles::tidy(const std::string& path) {
  const auto place = places_.find(path);
  if (place == places_.end() || place->second.file != 0 || place->second.step != 0 ||
      !place->second.queued.empty())
    return;
  leave_links(path, place->second);
  wake_waiting(place->second);
  places_.erase(place);
}

WrittenFiles::File* WrittenFiles::written_at(const std::string& path) {
  const auto place = files_.empty() ? places_.end() : places_.find(path);
  return place == places_.end() ? nullptr : find(place->second.file);
}

/// Whether nobody can write any more, and it is not known yet whether all have closed it.
bool WrittenFiles::is_being_closed(const Place& place) {
  const File* const file = find(place.file);
  if (file == nullptr || file->state == File::State::beginning) return false;
  return file->state != File::State::publishing && !is_open(*file);
}

std::string WrittenFiles::path_of(const DatasetKey& key, const std::string& path) const {
  if (key.name.empty() || places_.contains(path)) return path;
  const auto same = std::ranges::find_if(files_, [&](const auto& known) { return known.second.key == key; });
  return same == files_.end() ? path : same->second.path;
}

void WrittenFiles::when_known(const std::string& path, std::function<void()> then) {
  writers_.take_news();
  const std::string directory = prefix_of(path);
  auto place = places_.find(path);
  if (place == places_.end()) place = places_.lower_bound(directory);
  for (; place != places_.end() && (place->first == path || place->first.starts_with(directory)); ++place) {
    if (is_being_closed(place->second)) {
      place->second.waiting.emplace_back([this, path, then = std::move(then)] { when_known(path, then); });
      return;
    }
  }
  then();
}

void WrittenFiles::note_outdated(matcher::StepId step) {
  const auto published = paths_.find(step);
  if (published == paths_.end()) return void(outdated_.insert(step));
  const std::string path = published->second;
  const auto place = places_.find(path);
  if (place == places_.end() || place->second.step != step) return;
  base_.names.change(path);
  place->second.step = 0;
  tidy(path);
}

void WrittenFiles::forget(matcher::StepId step) {
  outdated_.erase(step);
  const auto found = paths_.extract(step);
  if (found.empty()) return;
  const std::string& path = found.mapped();
  const auto place = places_.find(path);
  if (place != places_.end() && place->second.step == step) {
    base_.names.change(path);
    place->second.step = 0;
    tidy(path);
  }
  published_.erase(step);
}

void WrittenFiles::end_component(const std::string& component, std::function<void()> then) {
  writers_.take_news();
  std::vector<FileId> ids;
  for (const auto& [id, file] : files_) {
    if (file.component() == component) ids.push_back(id);
  }
  bool is_busy = false;
  for (const FileId id : ids) {
    end_with_component(id);
    is_busy = is_busy || find(id) != nullptr;
  }
  bytes_.drop_spares();
  if (!is_busy) return then();
  endings_.push_back({component, std::move(then)});
}

void WrittenFiles::tell_of_copies() const {
  if (bytes_.copied_bytes() + bytes_.compared_bytes() == 0) return;
  base_.log.detail(
      "matcher " + std::to_string(base_.rank()) + " copied " + std::to_string(bytes_.copied_bytes()) +
      " bytes of files in which programs went on, and compared " + std::to_string(bytes_.compared_bytes()));
}

/// What is published already goes on.
void WrittenFiles::end_with_component(FileId id) {
  if (const File* const file = find(id); file != nullptr && is_open(*file)) {
    if (file->bytes.is_in_place) writers_.trust_holders(id);  // other components may have it open, too
    writers_.look(id);
  }
  File* const file = find(id);
  if (file == nullptr) return;
  if (file->state == File::State::beginning) return abandon(*file, file->component() + " has ended");
  if (!is_open(*file) || file->is_syncing) return;  // end_sync() comes back to it
  const std::string outlived = "a process that has outlived " + file->component();
  if (writers_.is_open(id)) return lose(*file, outlived + " still has it open");
  if (file->is_nameless) return end_without_step(*file);  // each close has brought its bytes to the disk
  if (file->closes_wanted != 0) {
    return end_unclosed(
        *file, file->component() + " has closed it " + std::to_string(file->closes) +
                   (file->closes == 1 ? " time" : " times") +
                   ", and the rule says 'publish: close:" + std::to_string(file->closes_wanted) + "'");
  }
  publish(*file);
  File* const left = find(id);
  if (left != nullptr && left->state == File::State::open) lose(*left, outlived + " has opened it");
}

}  // namespace sluice::runtime
