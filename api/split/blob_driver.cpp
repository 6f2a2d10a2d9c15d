#include "blob_driver.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>

#include "agreement.hpp"
#include "same_definitions.hpp"
#include "sluice/storage/blob_files.hpp"

namespace sluice::api {
namespace {

using formats::Blobs;

/// Accesses of plain bytes, and the arrays that they point to.
struct ByteAccesses {
  formats::Header header;
  std::vector<Access> accesses;
  std::deque<std::array<std::int64_t, 4>> numbers;
  std::deque<std::vector<formats::HyperslabView>> slabs;

  explicit ByteAccesses(bool has_records) {
    if (has_records) header.add_dimension({"records", 0, true});
  }

  /// Adds a variable with `bytes` bytes (in each record).
  int add_variable(bool has_records, std::int64_t bytes, std::int64_t begin) {
    formats::Variable variable;
    variable.name = "v" + std::to_string(header.variable_count());
    variable.type = formats::Type::int8;
    if (has_records) variable.dimids.push_back(header.record_dimension());
    variable.dimids.push_back(header.add_dimension({variable.name, bytes, false}));
    variable.begin = begin;
    return header.add_variable(std::move(variable));
  }

  /// Begins an access to a record of the variable; `bytes` must outlive this object.
  void begin_access(int varid, const std::vector<std::byte>& bytes) {
    Access access;
    access.varid = varid;
    access.buffer = const_cast<std::byte*>(bytes.data());  // a put does not write to it
    access.memory = formats::Type::int8;
    access.elements = static_cast<std::int64_t>(bytes.size());
    accesses.push_back(access);
    slabs.emplace_back();
  }
  void add_range(bool has_records, std::int64_t record, std::int64_t first, std::int64_t bytes) {
    auto& n = numbers.emplace_back(std::array<std::int64_t, 4>{record, first, 1, bytes});
    const std::size_t skipped = has_records ? 0 : 1;
    slabs.back().push_back(
        {std::span(n).subspan(skipped, 2 - skipped), std::span(n).subspan(2 + skipped, 2 - skipped), {}});
    accesses.back().slabs = slabs.back();
  }
};

/// Calls visit(position, length) for each part of a process's list that was put; neighbours are joined. Both
/// lists are ascending. The process's list also contains the holes of the map.
template <class Visit>
void for_each_position(const std::vector<formats::ElementRun>& list,
                       const std::vector<formats::ElementRun>& runs, const Visit& visit) {
  std::int64_t before = 0;
  formats::ElementRun found;
  auto next = list.begin();
  for (const auto& run : runs) {
    while (next->offset + next->length <= run.offset) before += (next++)->length;
    const std::int64_t position = before + run.offset - next->offset;
    if (found.length > 0 && found.offset + found.length != position)
      visit(found.offset, std::exchange(found.length, 0));
    if (found.length == 0) found.offset = position;
    found.length += run.length;
  }
  if (found.length > 0) visit(found.offset, found.length);
}

/// The variables that had these ids before, in their old order.
formats::Header in_old_order(const formats::Header& header, const std::vector<int>& ids) {
  formats::Header result;
  for (const auto& dimension : header.dimensions()) result.add_dimension(dimension);
  for (const int id : ids) result.add_variable(header.variable(id));
  return result;
}

}  // namespace

BlobDriver::BlobDriver(const Communicator& comm, FileSet files, const FileOptions& options,
                       OpenInfo open_info)
    : files_(comm, std::move(files), options, open_info.files),
      blobs_(std::move(open_info.blobs)),
      order_in_files_(blobs_.order),
      header_(std::move(open_info.header)),
      is_laid_out_(!open_info.descriptions.empty()),
      is_writable_(open_info.files.is_writable),
      load_(std::move(open_info.load)),
      most_pending_bytes_(open_info.pending_bytes) {
  pending_.use_header(header_);
  if (!is_laid_out_) return;
  files_.set_record_count(header_.record_count);
  descriptions_ = std::move(open_info.descriptions);
  files_.adopt(SplitFiles::contents_of(descriptions_));
  place();
  for (std::size_t k = 0; k < blobs_.maps.size() && blobs_.processes == comm.size() && is_writable_; ++k) {
    const auto& map = blobs_.maps[k];
    map_of_pattern_.emplace(std::pair(id_of_pattern(map.runs), formats::lengths_of(header_, map.dimids)),
                            static_cast<int>(k) + 1);
  }
}

void BlobDriver::place() {
  auto load = load_;
  if (!load) load = [this](int map) { return formats::entries_of_map(header_, blobs_, map); };
  placement_.emplace(header_, blobs_, descriptions_, files_.space(), std::move(load),
                     storage::most_map_bytes);
}

std::vector<int> BlobDriver::undecided() const {
  std::vector<int> variables;
  for (int id = 0; id < static_cast<int>(blobs_.kept.size()); ++id) {
    if (is_undecided(id)) variables.push_back(id);
  }
  return variables;
}

std::vector<std::vector<int>> BlobDriver::new_ids() const {
  std::vector<std::vector<int>> ids(static_cast<std::size_t>(files_.size()));
  if (!is_laid_out_) return ids;
  for (int id = 0; id < descriptions_.front().header.variable_count(); ++id) ids[0].push_back(id);
  for (int i = 1; i < files_.size(); ++i) {
    // New maps follow the old maps; new variables follow the old variables.
    const auto before = formats::variables_of_file(blobs_, order_in_files_, i - 1);
    const auto after = formats::variables_of_file(blobs_, blobs_.order, i - 1);
    int id = 0;
    for (const int variable : before) {
      while (after[static_cast<std::size_t>(id)] != variable) ++id;
      ids[static_cast<std::size_t>(i)].push_back(id++);
    }
  }
  return ids;
}

SplitFiles::Descriptions BlobDriver::lay_out(const std::vector<std::vector<int>>& ids) const {
  SplitFiles::Descriptions files(static_cast<std::size_t>(files_.size()));
  for (int i = 0; i < files_.size(); ++i) {
    auto& file = files[static_cast<std::size_t>(i)];
    file.header = i == 0 ? formats::blob_master_header(header_, blobs_)
                         : formats::blob_file_header(header_, blobs_, i - 1);
    const auto* const old = is_laid_out_ ? &descriptions_[static_cast<std::size_t>(i)] : nullptr;
    const auto& known = ids[static_cast<std::size_t>(i)];
    for (std::size_t id = 0; id < known.size(); ++id)
      file.header.variable(known[id]).begin = old->header.variable(static_cast<int>(id)).begin;
    file.layout =
        formats::compute_layout(file.header, layout_options_, old != nullptr ? &old->layout : nullptr);
  }
  return files;
}

void BlobDriver::lay_out_again() {
  header_.record_count = files_.record_count();
  SplitFiles::Descriptions next;
  const auto ids = new_ids();
  together_telling(comm(), [&] { next = lay_out(ids); });
  auto contents = SplitFiles::contents_of(next);
  if (is_laid_out_)
    files_.move_to(std::move(contents), [&](int file, std::int64_t file_bytes) {
      const auto i = static_cast<std::size_t>(file);
      auto& before = descriptions_[i];
      before.header.record_count = files_.record_count();
      const auto after = in_old_order(next[i].header, ids[i]);
      return DataMove({before.header, before.layout}, {after, next[i].layout}, file_bytes);
    });
  else
    files_.adopt(std::move(contents));
  descriptions_ = std::move(next);
  is_laid_out_ = true;
  order_in_files_ = blobs_.order;
  together_telling(comm(), [&] {
    files_.write_my_headers([&](int file) {
      return formats::encode_header(descriptions_[static_cast<std::size_t>(file)].header);
    });
    place();
  });
  files_.metadata_written();
}

void BlobDriver::write_header(const formats::Header& header, const formats::Layout&) {
  together_telling(comm(), [&] { formats::check_blob_names(header); });
  check_same_definitions(comm(), header);
  header_ = header;
  pending_.use_header(header_);
  for (int id = static_cast<int>(blobs_.kept.size()); id < header.variable_count(); ++id) {
    // A variable to be filled gets its place at once.
    const bool is_filled = !header.variable(id).no_fill;
    blobs_.kept.push_back(is_filled ? Blobs::whole : Blobs::undecided);
    if (is_filled) blobs_.order.push_back(id);
  }
  files_.set_record_count(std::max(files_.record_count(), header.record_count));
  lay_out_again();
}

void BlobDriver::move_data(const formats::Header&, const formats::Layout&, const formats::Header&,
                           const formats::Layout&) {
  flush_pending();
}

void BlobDriver::flush_pending() {
  if (!is_writable_) return;
  const auto variables = undecided();
  if (variables.empty()) return;
  const auto known_entries = blobs_.order.size();
  const auto known_maps = blobs_.maps.size();
  decide(variables);
  if (blobs_.order.size() == known_entries) return;
  lay_out_again();
  together_telling(comm(), [&] { write_new_maps(known_maps); });
  write_pending();
  // No process continues while another one still writes earlier puts.
  check_mpi(MPI_Barrier(comm().get()), "wait for the other processes");
  pending_.clear();
  std::fill(pending_variables_.begin(), pending_variables_.end(), 0);
}

void BlobDriver::decide(const std::vector<int>& variables) {
  const auto& parts = pending_.parts(header_);
  std::vector<PutPattern> patterns(variables.size());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto first = parts.lower_bound({variables[i], 0});
    for (auto part = first; part != parts.end() && part->first.varid == variables[i]; ++part)
      patterns[i].add(part->second.runs);
  }
  const auto agreed = agree_on_patterns(comm(), patterns);
  std::vector<int> added;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (agreed[i].putters == 0) continue;
    auto dimids = header_.variable(variables[i]).dimids;
    if (header_.is_record_variable(variables[i])) dimids.erase(dimids.begin());
    int kept = Blobs::whole;
    const bool is_shared = agreed[i].putters > 1 && agreed[i].is_regular;
    if (is_shared && !dimids.empty() && blobs_.processes == comm().size()) {
      const auto [found, is_new] =
          map_of_pattern_.try_emplace({agreed[i].id, formats::lengths_of(header_, dimids)}, Blobs::whole);
      if (is_new) found->second = add_map(variables[i], patterns[i].runs());
      kept = found->second;
    }
    blobs_.kept[static_cast<std::size_t>(variables[i])] = kept;
    added.push_back(variables[i]);
  }
  blobs_.order.insert(blobs_.order.end(), added.begin(), added.end());
}

int BlobDriver::add_map(int varid, const std::vector<formats::ElementRun>& runs) {
  formats::DecompositionMap map;
  map.dimids = header_.variable(varid).dimids;
  if (header_.is_record_variable(varid)) map.dimids.erase(map.dimids.begin());
  map.runs = gather_runs(comm(), runs);
  if (formats::coverage_of(map, formats::elements_of_map(header_, map)) == formats::Coverage::twice)
    return Blobs::whole;
  formats::give_away_holes(map, header_);
  blobs_.maps.push_back(std::move(map));
  const auto id = static_cast<int>(blobs_.maps.size());
  // All maps come before the variables: E3SM's programs look for them there.
  const auto behind = std::find_if(blobs_.order.begin(), blobs_.order.end(), [](int it) { return it >= 0; });
  blobs_.order.insert(behind, -id);
  return id;
}

void BlobDriver::write_new_maps(std::size_t known_maps) {
  files_.for_my_files([&](int file) {
    if (file == 0) return;
    const auto& header = descriptions_[static_cast<std::size_t>(file)].header;
    for (auto map = static_cast<int>(known_maps) + 1; map <= static_cast<int>(blobs_.maps.size()); ++map) {
      const auto variables = formats::encode_map(blobs_, map, file - 1, header);
      int id = formats::first_map_variable(header, map);
      for (const auto& bytes : variables) files_.file(file).write(header.variable(id++).begin, bytes);
    }
  });
}

void BlobDriver::write_pending() {
  const int mine = blobs_.file_of(std::min(comm().rank(), blobs_.processes - 1));
  const auto blob_header =
      files_.space().placed_header(descriptions_[static_cast<std::size_t>(mine) + 1], mine + 1);
  const auto whole_header = files_.space().placed_header(descriptions_[1], 1);
  ByteAccesses bytes(header_.record_dimension() >= 0);
  std::map<int, int> byte_variables;
  for (const auto& [key, part] : pending_.parts(header_)) {
    const int kept = blobs_.kept[static_cast<std::size_t>(key.varid)];
    const auto& placed = kept == Blobs::whole ? whole_header : blob_header;
    const int id = placed.find_variable(header_.variable(key.varid).name);
    const auto element_bytes = static_cast<std::int64_t>(formats::size_of(placed.variable(id).type));
    const bool has_records = header_.is_record_variable(key.varid);
    const auto [variable, is_new] = byte_variables.try_emplace(key.varid, 0);
    if (is_new)
      variable->second = bytes.add_variable(has_records, placed.elements_per_record(id) * element_bytes,
                                            placed.variable(id).begin);
    bytes.begin_access(variable->second, part.bytes);
    if (kept != Blobs::whole) {
      const auto& map = blobs_.maps[static_cast<std::size_t>(kept) - 1];
      const std::int64_t start = blobs_.elements(map, blobs_.first_process(mine), comm().rank());
      for_each_position(map.runs[static_cast<std::size_t>(comm().rank())], part.runs,
                        [&, record = key.record](std::int64_t position, std::int64_t length) {
                          bytes.add_range(has_records, record, (start + position) * element_bytes,
                                          length * element_bytes);
                        });
      continue;
    }
    for (const auto& run : part.runs)
      bytes.add_range(has_records, key.record, run.offset * element_bytes, run.length * element_bytes);
  }
  const formats::Layout layout = files_.space().layout();
  files_.put([&] {
    files_.transfer().put(bytes.header, formats::FilePlacement(bytes.header, layout), bytes.accesses,
                          Mode::collective);
  });
}

void BlobDriver::fill(const formats::Header& header, const formats::Layout&, int varid,
                      std::int64_t first_record, std::int64_t records) {
  if (is_undecided(varid)) flush_pending();
  if (is_undecided(varid)) {
    blobs_.kept[static_cast<std::size_t>(varid)] = Blobs::whole;
    blobs_.order.push_back(varid);
    lay_out_again();
  }
  files_.transfer().fill(header, *placement_, varid, first_record, records);
}

void BlobDriver::flush_before(std::span<const Access> accesses) {
  if (undecided().empty()) return;
  // The last bit says that a process has no memory for more pending puts.
  const std::size_t variables = blobs_.kept.size();
  std::vector<std::uint64_t> touched(variables / 64 + 1);
  const auto set_bit = [&](std::size_t bit) { touched[bit / 64] |= std::uint64_t{1} << bit % 64; };
  for (const Access& access : accesses) {
    if (is_undecided(access.varid)) set_bit(static_cast<std::size_t>(access.varid));
  }
  if (pending_.bytes() > most_pending_bytes_) set_bit(variables);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, touched.data(), static_cast<int>(touched.size()), MPI_UINT64_T,
                          MPI_BOR, comm().get()),
            "agree on a flush");
  pending_variables_.resize(touched.size());
  bool is_needed = (touched[variables / 64] >> variables % 64 & 1) != 0;
  for (std::size_t i = 0; i < touched.size(); ++i)
    is_needed = is_needed || (touched[i] & pending_variables_[i]) != 0;
  if (is_needed) flush_pending();
  for (std::size_t i = 0; i < touched.size(); ++i) pending_variables_[i] |= touched[i];
}

void BlobDriver::put(const formats::Header& header, const formats::Layout&, std::span<Access> accesses,
                     Mode mode) {
  // Before this call puts data: moving data uses the number of records that is agreed on.
  if (mode == Mode::collective) flush_before(accesses);
  std::vector<Access> placed;
  std::vector<std::size_t> placed_at;
  PendingPuts::Call call(pending_, header);
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (is_undecided(accesses[i].varid)) {
      call.add(accesses[i]);
    } else {
      placed.push_back(accesses[i]);
      placed_at.push_back(i);
    }
  }
  files_.put([&] { files_.transfer().put(header, *placement_, placed, mode); });
  for (std::size_t i = 0; i < placed.size(); ++i) accesses[placed_at[i]].status = placed[i].status;
}

void BlobDriver::get(const formats::Header& header, const formats::Layout&, std::span<Access> accesses,
                     Mode mode) {
  bool has_undecided = !undecided().empty();
  if (has_undecided && mode == Mode::collective) {
    std::int64_t most = pending_.bytes();
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, comm().get()), "agree on a flush");
    if (most > 0) flush_pending();
    has_undecided = !undecided().empty();
  }
  std::vector<Access> placed;
  std::vector<std::size_t> placed_at;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (has_undecided && is_undecided(accesses[i].varid)) {
      pending_.read(header, accesses[i]);
    } else {
      placed.push_back(accesses[i]);
      placed_at.push_back(i);
    }
  }
  files_.transfer().get(header, *placement_, placed, mode);
  for (std::size_t i = 0; i < placed.size(); ++i) accesses[placed_at[i]].status = placed[i].status;
}

std::int64_t BlobDriver::agree_record_count(std::int64_t local, Mode mode) {
  std::int64_t records = std::max(local, files_.record_count());
  if (mode == Mode::independent) return records;
  // The number that a collective put agrees on does not include puts that were kept in memory.
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &records, 1, MPI_INT64_T, MPI_MAX, comm().get()),
            "agree on the number of records");
  if (records == files_.record_count()) return records;
  run_collectively(comm(), [&] { files_.write_my_record_counts(records); });
  files_.metadata_written();
  return records;
}

void BlobDriver::lengthen() {
  if (!is_laid_out_) return;
  files_.lengthen([&](int file, std::int64_t file_bytes) {
    if (file == 0) return formats::FileEnd{};
    const auto& description = descriptions_[static_cast<std::size_t>(file)];
    const auto shares = formats::shares_in_file(blobs_, order_in_files_, file - 1);
    return formats::find_end(description, files_.record_count(), shares, file_bytes);
  });
}

void BlobDriver::sync() {
  flush_pending();
  lengthen();
  files_.sync();
}

void BlobDriver::close(const formats::Header& header) {
  flush_pending();
  if (const auto rest = undecided(); is_writable_ && !rest.empty()) {
    for (const int id : rest) blobs_.kept[static_cast<std::size_t>(id)] = Blobs::whole;
    blobs_.order.insert(blobs_.order.end(), rest.begin(), rest.end());
    lay_out_again();
  }
  lengthen();
  files_.close(header.record_count);
}

}  // namespace sluice::api
