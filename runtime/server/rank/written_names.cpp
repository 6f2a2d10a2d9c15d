// The names of written files: renaming, exchanging and linking change names, never bytes. Only what leaves
// the run is copied, to the disk. docs/design/names-and-places.md.
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "memory_file.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/name_marks.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/runtime/wire.hpp"
#include "written_file_states.hpp"

namespace sluice::runtime {

/// A request for a name, until it is answered.
struct WrittenFiles::Renaming {
  ClientId client = 0;
  std::uint32_t tag = 0;
  NameFile request;
  /// What other matchers, and PnetCDF, have written at a path: null where there is nothing.
  std::map<std::string, SharedFile> found = {};
  int parts = 1;            ///< that are not done yet
  bool is_by_open = false;  ///< of an open that adopts a file: is_taken_back()
  Outcome outcome = {};     ///< the first failure
};

// Names of a file

std::vector<std::string> WrittenFiles::names_of(const File& file) {
  std::vector<std::string> paths;
  if (!file.is_nameless) paths.push_back(file.path);
  for (const Name& name : file.more_names) paths.push_back(name.path);
  return paths;
}

/// Another name of the same file, which is being published; null: none is.
WrittenFiles::Place* WrittenFiles::busy_link(const Place& place) {
  if (place.links == nullptr) return nullptr;
  for (const std::string& path : *place.links) {
    Place& other = places_[path];
    if (other.file != 0 && &other != &place) return &other;
  }
  return nullptr;
}

/// What is written by one of the names is in the file of all.
void WrittenFiles::take_linked_names(File& file, const Place& place) {
  if (place.links == nullptr) return;
  for (const std::string& path : *place.links) {
    Place& other = places_[path];
    if (other.file != 0 || path == file.path) continue;
    other.file = file.id;
    file.more_names.push_back({other.key, path});
  }
}

/// For who has it open. Of a file in place the kernel knows.
void WrittenFiles::mark_names(const std::string& path, bool has_lost_it) {
  const Place& place = places_[path];
  const File* const file = find(place.file);
  if (file != nullptr && (file->bytes.is_in_place || !file->landings.empty())) return;
  const SharedFile bytes = file != nullptr ? file->bytes.file : published_.given(place.step);
  const std::size_t names = has_lost_it ? 0 : place.links == nullptr ? 1 : place.links->size();
  if (bytes != nullptr) mark(*bytes, matcher::mark_of_names(names));
}

void WrittenFiles::leave_links(const std::string& path, Place& place) {
  const auto links = std::exchange(place.links, nullptr);
  if (links == nullptr) return mark_names(path, true);
  base_.names.change_all();
  links->erase(path);
  if (!links->empty()) mark_names(*links->begin());
  if (links->size() > 1) return;
  for (const std::string& last : *links) {
    if (const auto other = places_.find(last); other != places_.end()) other->second.links = nullptr;
  }
}

/// The path is nobody's any more. A file that has no other name is given up; who has it open goes on in it.
void WrittenFiles::take_name(const std::string& path, const std::string& reason) {
  const auto known = places_.find(path);
  if (known == places_.end()) return;
  Place& place = known->second;
  base_.names.change(path);
  leave_links(path, place);
  wake_waiting(place);
  published_.remove_saved(std::exchange(place.step, 0));
  File* const file = find(std::exchange(place.file, 0));
  if (file == nullptr) return;
  const auto same = [&](const Name& name) { return name.path == path; };
  if (file->path != path || file->is_nameless) {
    std::erase_if(file->more_names, same);
    return tell_names(*file);
  }
  if (!file->more_names.empty()) {
    const Name next = file->more_names.front();
    file->more_names.erase(file->more_names.begin());
    rename_to(*file, next);
    return tell_names(*file);
  }
  if (!file->landings.empty()) {
    file->is_nameless = true;
    file->closes_wanted = 1;  // nothing is published
    tell_names(*file);
    steps_.forget_step(file->id);
    // Later: the processes may have sent something for the caller's files.
    return boost::asio::post(base_.loop, [this, id = file->id] {
      writers_.look(id);
      if (const File* const left = find(id)) end_nameless(*left);
    });
  }
  place.file = file->id;
  const bool is_closed = file->state == File::State::open && !writers_.is_open(file->id);
  if (is_closed && reason == was_replaced) return end_without_step(*file);
  abandon(*file, reason);
}

/// Its step is created when it is published: the registry knows a step by its name.
void WrittenFiles::rename_to(File& file, const Name& name) {
  file.path = name.path;
  file.key = name.key;
  file.goes_on = false;
  file.bytes.base = nullptr;  // the name has not these bytes,
  file.bytes.before.reset();  // even if nobody changes them
  steps_.forget_step(file.id);
}

/// The file has been published by its first name.
void WrittenFiles::publish_other_names(const File& ended) {
  if (ended.is_nameless) return;
  for (const Name& name : ended.more_names) {
    OpenFile other;
    other.key = name.key;
    other.path = name.path;
    other.is_in_files = ended.is_in_files;
    other.is_in_place = ended.bytes.is_in_place;
    publish_bytes(ended.writer, other, {0, ended.bytes.file, ended.bytes.is_on_disk}, [](const Outcome&) {});
  }
}

/// Publishes bytes that nobody can change any more by one more name. The bytes are the same file.
void WrittenFiles::publish_bytes(const LocalProcess& writer, const OpenFile& name, const Contents& contents,
                                 std::function<void(const Outcome&)> then) {
  const FileId id = steps_.connect(writer);
  File& file = files_[id];
  file.id = id;
  file.state = File::State::publishing;
  file.path = name.path;
  file.key = name.key;
  file.writer = {writer.id, writer.component, writer.token, writer.process_id};
  file.bytes.file = contents.bytes;
  file.bytes.is_on_disk = contents.is_on_disk;
  file.bytes.base = contents.base;
  file.bytes.changed = contents.changed;
  file.draft = contents.draft;
  file.is_shown_at_sync = contents.draft != 0;
  file.bytes.is_in_place = name.is_in_place;
  file.is_in_files = name.is_in_files;
  file.at_end.push_back(std::move(then));
  Place& place = places_[name.path];
  place.key = name.key;
  place.file = id;
  change(file);
  tell_names(file);
  end_written(file);
}

// Requests

void WrittenFiles::name(Client& client, std::uint32_t tag, const NameFile& request) {
  const auto renaming = std::make_shared<Renaming>();  // shared by the functions that go on with it
  renaming->client = client.id;
  renaming->tag = tag;
  renaming->request = request;
  writers_.take_news();  // may take messages of the client, and end it
  OpenFile& from = renaming->request.from;
  if (from.key.name.empty() && !find_by_numbers(from))
    return refuse(renaming, NC_ENOENT, "the file of the descriptor has no name");
  go_on(renaming);
}

/// A descriptor's file has the name that it has now.
bool WrittenFiles::find_by_numbers(OpenFile& name) {
  const auto found = std::ranges::find_if(places_, [&](const auto& known) {
    const File* const file = find(known.second.file);
    const SharedFile bytes = file != nullptr ? file->bytes.file : published_.given(known.second.step);
    if (bytes == nullptr) return false;
    const struct stat facts = status_of(*bytes);
    return matcher::path_of_numbers(facts.st_dev, facts.st_ino) == name.path;
  });
  if (found == places_.end()) return false;
  name.path = found->first;
  name.key = found->second.key;
  return true;
}

void WrittenFiles::go_on(const RenamingPtr& renaming) {
  const NameFile& request = renaming->request;
  if (clients_.find(renaming->client) == nullptr) return;
  if (waits_for(renaming, request.from.path)) return;
  if (request.how != NameFile::How::land && waits_for(renaming, request.to.path)) return;
  try {
    carry_out(renaming);
  } catch (const Error& error) {
    refuse(renaming, error.status(), error.what());
  }
}

/// Whether the file of the path is not in a state in which it can get another name. Then go_on() comes again.
bool WrittenFiles::waits_for(const RenamingPtr& renaming, const std::string& path) {
  const File* const file = written_at(path);
  if (file == nullptr || is_open(*file)) return false;
  places_.at(path).queued.push_back([this, renaming] { go_on(renaming); });
  return true;
}

/// False: it is looked for at the registry, and go_on() comes again; or there is none, and the request has
/// been refused.
bool WrittenFiles::find_contents(const RenamingPtr& renaming, const OpenFile& name, Contents& contents) {
  const auto known = places_.find(name.path);
  if (known != places_.end() && known->second.file != 0) {
    contents.file = known->second.file;
    return true;
  }
  const matcher::StepId step = known == places_.end() ? 0 : known->second.step;
  if (step != 0) {
    contents = {0, published_.contents(step), published_.is_on_disk(step)};
    if (contents.bytes != nullptr) return true;
  }
  const auto found = renaming->found.find(name.path);
  if (found == renaming->found.end() && !name.is_in_place) {
    look_for(renaming, name);
    return false;
  }
  if (found != renaming->found.end()) contents.bytes = found->second;
  // The disk has exchanged them already, whoever has them open.
  if (name.is_in_place && renaming->request.how == NameFile::How::exchange) return true;
  if (contents.bytes != nullptr) return true;
  // Another node may have it open, or a program that writes it by PnetCDF or netCDF.
  const NameFile::How how = name.is_in_place ? NameFile::How::land : renaming->request.how;
  if (how == NameFile::How::rename) {
    base_.names.change_all(renaming->request.to.path);
    take_from_others(*renaming, TakeSent::whoever_has_it);
  } else if (how == NameFile::How::link && base_.nodes.size() > 1) {
    link_elsewhere(renaming, name);
  } else {
    refuse(renaming, NC_ENOENT, name.path + " is not there");
  }
  return false;
}

/// `name`: first the old one; then the new one, which the matcher that has the file has given to it.
void WrittenFiles::link_elsewhere(const RenamingPtr& renaming, const OpenFile& name) {
  QueuedOpen asked{renaming->client, renaming->tag, name};
  asked.wants_facts = true;
  const bool is_made = name.path == renaming->request.to.path;
  look(asked, Open::Which::growing, [this, renaming, is_made](const SharedFile& found) {
    if (Client* const client = clients_.find(renaming->client))
      clients_.end_image_read(*client, renaming->tag);
    if (found == nullptr) return refuse(renaming, NC_ENOENT, renaming->request.from.path + " is not there");
    if (is_made) return done(renaming);
    tell_others(renaming->request, TakeSent::whoever_has_it);
    boost::asio::post(base_.loop, [this, renaming] { link_elsewhere(renaming, renaming->request.to); });
  });
}

void WrittenFiles::follow_link(const DatasetKey& key, const std::string& path, const Name& to) {
  File* const file = written_at(path);
  if (file == nullptr || !is_open(*file) || written_at(to.path) != nullptr) return;
  base_.names.change_all(to.path);
  join_links({NameFile::How::link, {key, path}, {to.key, to.path}});
  add_name(*file, to);
  mark_names(path);
}

void WrittenFiles::add_name(File& file, const Name& name) {
  Place& place = places_[name.path];
  place.key = name.key;
  place.file = file.id;
  file.more_names.push_back(name);
  file.bytes.base = nullptr;  // the new name has no bytes yet,
  file.bytes.before.reset();  // even if nobody changes them
  tell_names(file);
}

void WrittenFiles::look_for(const RenamingPtr& renaming, const OpenFile& name) {
  // Later: the registry may be in the middle of something.
  const auto then = [this, renaming, path = name.path](const SharedFile& found) {
    renaming->found[path] = found;
    if (Client* const client = clients_.find(renaming->client))
      clients_.end_image_read(*client, renaming->tag);
    boost::asio::post(base_.loop, [this, renaming] { go_on(renaming); });
  };
  look({renaming->client, renaming->tag, name}, Open::Which::newest, then);
}

void WrittenFiles::carry_out(const RenamingPtr& renaming) {
  using How = NameFile::How;
  const NameFile& request = renaming->request;
  Contents from, to;
  if (!find_contents(renaming, request.from, from)) return;
  if (request.how == How::land) return land(renaming, from);
  const auto known = places_.find(request.to.path);
  const bool is_there = known != places_.end() && (known->second.file != 0 || known->second.step != 0);
  if (request.must_be_new && is_there) return refuse(renaming, NC_EEXIST, request.to.path + " exists");
  const auto same = known == places_.end() ? nullptr : known->second.links;
  const bool is_same =
      request.from.path == request.to.path || (same != nullptr && same->contains(request.from.path));
  if (is_same && request.how != How::link) return done(renaming);
  if (request.how != How::link) expect_may_change(renaming->client, request.from.path);
  expect_may_change(renaming->client, request.to.path);
  if (request.how == How::exchange && !find_contents(renaming, request.to, to)) return;
  base_.names.change_all(request.to.path);
  if (request.how == How::rename) {
    if (request.from.key == request.to.key) tell_others(request, base_.rank());  // by `identity: name`
    take_name(request.to.path, was_replaced);
    move_links(request.from.path, request.to.path);
  }
  if (request.how == How::exchange) forget_names(request);
  if (request.how == How::link) join_links(request);
  if (request.how == How::link) mark_names(request.from.path);
  give_name(renaming, from, request.to, request.from);
  if (request.how == How::exchange) give_name(renaming, to, request.from, request.to);
  end_part(renaming, {});
}

/// The other names of the file know it by the new one.
void WrittenFiles::move_links(const std::string& from, const std::string& to) {
  const auto links = std::exchange(places_[from].links, nullptr);
  if (links == nullptr) return;
  links->erase(from);
  links->insert(to);
  places_[to].links = links;
}

/// Both will be given to others.
void WrittenFiles::forget_names(const NameFile& request) {
  Place& from = places_[request.from.path];
  Place& to = places_[request.to.path];
  const auto links_of_from = from.links, links_of_to = to.links;
  if (links_of_from != nullptr) links_of_from->erase(request.from.path);
  if (links_of_to != nullptr) links_of_to->erase(request.to.path);
  if (links_of_from != nullptr) links_of_from->insert(request.to.path);
  if (links_of_to != nullptr) links_of_to->insert(request.from.path);
  from = {request.from.key,        0,          0, std::move(from.queued), std::move(from.openers),
          std::move(from.waiting), links_of_to};
  to = {request.to.key, 0, 0, std::move(to.queued), std::move(to.openers), std::move(to.waiting),
        links_of_from};
}

void WrittenFiles::join_links(const NameFile& request) {
  if (request.from.is_in_place) return;  // the disk has them
  Place& from = places_[request.from.path];
  Place& to = places_[request.to.path];
  from.key = request.from.key;
  to.key = request.to.key;
  if (from.links == nullptr)
    from.links = std::make_shared<std::set<std::string>>(std::set<std::string>{request.from.path});
  from.links->insert(request.to.path);
  to.links = from.links;
}

/// Of a file in place; nothing where it is not there.
WrittenFiles::Contents WrittenFiles::contents_on_disk(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file) return {};
  return {0, std::make_shared<const FileDescriptor>(std::move(file)), true};
}

void WrittenFiles::give_name(const RenamingPtr& renaming, const Contents& contents, const OpenFile& name,
                             const OpenFile& former) {
  const Client* const client = clients_.find(renaming->client);
  if (contents.file == 0) {
    const Contents there = contents.bytes != nullptr ? contents : contents_on_disk(name.path);
    if (there.bytes == nullptr) return;
    ++renaming->parts;
    return publish_bytes(*client->process, name, there,
                         [this, renaming](const Outcome& outcome) { end_part(renaming, outcome); });
  }
  File& file = files_.at(contents.file);
  const Name given{name.key, name.path};
  if (renaming->request.how == NameFile::How::link) return add_name(file, given);
  Place& place = places_[name.path];
  place.key = name.key;
  place.file = file.id;
  const auto known = std::ranges::find(file.more_names, former.path, &Name::path);
  if (known != file.more_names.end()) {
    *known = given;
  } else {
    rename_to(file, given);
  }
  tell_names(file);
  Place& left = places_[former.path];
  if (left.file == file.id) left.file = 0;
}

void WrittenFiles::end_part(const RenamingPtr& renaming, const Outcome& outcome) {
  if (outcome.is_failure() && !renaming->outcome.is_failure()) renaming->outcome = outcome;
  if (--renaming->parts > 0) return;
  const Outcome& first = renaming->outcome;
  if (first.is_failure()) return refuse(renaming, first.status, first.text);
  renaming->request.how == NameFile::How::rename ? remove_former(renaming) : done(renaming);
}

void WrittenFiles::follow_removal(const std::string& path, const DatasetKey& new_key,
                                  const std::string& new_path) {
  const File* const replaced = written_at(new_path);  // what is opened now comes after the rename
  if (replaced == nullptr || replaced->state != File::State::beginning) take_name(new_path, was_replaced);
  File* const file = written_at(path);
  if (!new_path.empty() && file != nullptr && file->path == path && is_open(*file)) {
    rename_to(*file, {new_key, new_path});
    Place& place = places_[new_path];
    place.key = new_key;
    place.file = file->id;
    places_.at(path).file = 0;
    tell_names(*file);
  }
  take_name(path, "it was removed");
  tidy(path);
  tidy(new_path);  // empty: there is none
}

void WrittenFiles::remove_former(const RenamingPtr& renaming) {
  const OpenFile &former = renaming->request.from, &to = renaming->request.to;
  take_name(former.path, was_replaced);
  mark_names(to.path);  // the same file, perhaps
  tidy(former.path);
  if (clients_.find(renaming->client) == nullptr) return;
  if (former.key == to.key) return done(renaming);
  take_from_others(*renaming, base_.rank());
}

/// The registry hears of it, because it also knows what the component has written by PnetCDF, or elsewhere.
void WrittenFiles::take_from_others(const Renaming& renaming, std::uint32_t remover) {
  if (base_.nodes.size() > 1 || remover == TakeSent::whoever_has_it) tell_others(renaming.request, remover);
  Open removal{renaming.request.from.key, {}, renaming.request.from.path, Purpose::remove};
  removal.is_on_disk = remover == base_.rank();
  base_.tree.send_up(ClientRequest{renaming.client, renaming.tag, std::move(removal)});
}

void WrittenFiles::tell_others(const NameFile& name, std::uint32_t remover) {
  const bool is_link = name.how == NameFile::How::link;
  base_.tree.send_up(
      TakeSent{{}, name.from.path, name.from.key, remover, name.to.key, name.to.path, is_link});
}

void WrittenFiles::done(const RenamingPtr& renaming) {
  tidy(renaming->request.from.path);
  tidy(renaming->request.to.path);
  Client* const client = clients_.find(renaming->client);
  const bool is_by_open = renaming->is_by_open;
  if (is_by_open) remove_as(rights_of(renaming->client).get(), renaming->request.to.path);
  if (client == nullptr) return;
  is_by_open ? clients_.send(*client, MessageType::file_opened, renaming->tag, encode(FileOpened{true}))
             : clients_.send(*client, MessageType::done, renaming->tag, encode(Done{}));
}

void WrittenFiles::refuse(const RenamingPtr& renaming, int status, const std::string& text) {
  tidy(renaming->request.from.path);
  if (Client* const client = clients_.find(renaming->client))
    clients_.send_error(*client, renaming->tag, status, text);
}

// To the disk

/// Its bytes are copied now. If somebody can write, they are copied again at the last close.
void WrittenFiles::land(const RenamingPtr& renaming, const Contents& contents) {
  const std::string& path = renaming->request.to.path;
  const FileDescriptor opened = open_as(rights_of(renaming->client).get(), path, O_WRONLY | O_NOFOLLOW);
  if (!opened) throw IoError(NC_EIO, errno, path, "open");
  const SharedFile landing =
      std::make_shared<const FileDescriptor>(::fcntl(opened.number(), F_DUPFD_CLOEXEC, 0));
  SharedFile bytes = contents.bytes;
  constexpr std::size_t most_landed = 64;  // who brings a link back does so at once
  if (landed_.size() >= most_landed) landed_.clear();
  landed_[status_of(*landing).st_ino] = renaming->request.from.path;
  if (File* const file = find(contents.file)) {
    bytes = file->bytes.file;
    file->landings.push_back(landing);
    // Who closes such a file waits until its bytes are on the disk, and knows it by this.
    mark(*bytes, mark_of_landing);
  }
  bytes_.copy_to(bytes, landing, [this, renaming](const Outcome& outcome) {
    outcome.is_failure() ? refuse(renaming, outcome.status, outcome.text) : done(renaming);
  });
}

/// A file on disk gets a name of the run. If it has come of a link to a file of the run, which is as it was,
/// the name is one more of that: so `ln -f` makes names, by way of a temporary one.
bool WrittenFiles::is_taken_back(ClientId client, std::uint32_t tag, const OpenFile& request) {
  const FileDescriptor there(::open(request.path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!there) return false;
  const auto number = status_of(there).st_ino;
  const auto landed = landed_.extract(number);
  const auto place = landed.empty() ? places_.end() : places_.find(landed.mapped());
  if (place == places_.end() || place->first == request.path) return false;
  File* const file = find(place->second.file);
  const SharedFile bytes = file != nullptr ? file->bytes.file : published_.contents(place->second.step);
  if (bytes == nullptr || !(state_of(*bytes) == state_of(there))) return false;
  const auto is_this = [&](const SharedFile& one) { return status_of(*one).st_ino == number; };
  if (file != nullptr) std::erase_if(file->landings, is_this);
  const auto renaming = std::make_shared<Renaming>();  // shared by the functions that go on with it
  renaming->client = client;
  renaming->tag = tag;
  renaming->is_by_open = true;
  renaming->request = {NameFile::How::link, request, request, false};
  renaming->request.from.key = place->second.key;
  renaming->request.from.path = place->first;
  take_name(request.path, was_replaced);
  tidy(request.path);
  go_on(renaming);
  return true;
}

/// Nobody can write now.
void WrittenFiles::land(File& file) {
  for (const SharedFile& landing : file.landings) {
    ++file.copies_under_way;
    bytes_.copy_to(file.bytes.file, landing, [this, id = file.id](const Outcome& outcome) {
      File* const landed = find(id);
      if (landed == nullptr) return;
      if (outcome.is_failure())
        base_.log.event("the file on disk that was '" + landed->path + "' is not complete: " + outcome.text);
      if (--landed->copies_under_way == 0) end_landing(*landed);
    });
  }
}

void WrittenFiles::end_landing(File& file) {
  answer_landed(file);
  if (file.state != File::State::publishing) return end_nameless(file);
  file.landings.clear();
  if (file.is_nameless) return end_without_step(file);
  mark_names(file.path);
  end_written(file);
}

/// The file is on the disk alone, and nobody can write to it any more: it may have been closed before it lost
/// its name.
void WrittenFiles::end_nameless(const File& file) {
  const bool is_in_use = file.state != File::State::open || file.copies_under_way > 0 ||
                         writers_.are_asked(file.id) || writers_.is_open(file.id);
  if (file.is_nameless && !is_in_use) end_without_step(file);
}

/// Unless bytes are on their way.
void WrittenFiles::answer_landed(File& file) {
  if (file.copies_under_way > 0) return;
  for (const auto& then : std::exchange(file.at_landing, {})) then();
}

void WrittenFiles::await(Client& client, std::uint32_t tag, const AwaitFile& request) {
  if (request.is_synced) return sync(client, tag, request);
  const ClientId id = client.id;
  writers_.take_news();
  const auto answer = [this, id, tag] {
    if (Client* const waiting = clients_.find(id))
      clients_.send(*waiting, MessageType::done, tag, encode(Done{}));
  };
  const auto awaited = std::ranges::find_if(files_, [&](const auto& known) {
    if (known.second.landings.empty()) return false;
    const struct stat facts = status_of(*known.second.bytes.file);
    return request.file == FileIdentity{facts.st_dev, facts.st_ino};
  });
  if (awaited == files_.end()) return answer();
  File& file = awaited->second;
  file.at_landing.emplace_back(answer);
  if (!writers_.are_asked(file.id)) answer_landed(file);  // else take() does it
}

}  // namespace sluice::runtime
