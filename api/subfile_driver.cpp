#include "subfile_driver.hpp"

#include <algorithm>
#include <utility>

#include "agreement.hpp"
#include "data_move.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {

SubfileDriver::SubfileDriver(const Communicator& comm, FileSet files, const FileOptions& options, Facts facts)
    : comm_(comm),
      files_(std::move(files)),
      subfiling_(std::move(facts.subfiling)),
      is_writable_(facts.is_writable),
      is_shared_(facts.is_shared),
      is_laid_out_(!facts.files.empty()),
      transfer_(comm_, files_, options) {
  if (!is_laid_out_) return;
  record_count_ = facts.files.front().header.record_count;
  adopt(std::move(facts.files));
}

formats::Header SubfileDriver::file_header(const formats::Header& header, int file) const {
  return file == 0 ? formats::master_header(header, subfiling_)
                   : formats::subfile_header(header, subfiling_, file - 1);
}

SubfileDriver::Files SubfileDriver::lay_out(const formats::Header& header) const {
  Files files(static_cast<std::size_t>(files_.size()));
  for (int i = 0; i < files_.size(); ++i) {
    auto& file = files[static_cast<std::size_t>(i)];
    file.header = file_header(header, i);
    const auto* const old = is_laid_out_ ? &descriptions_[static_cast<std::size_t>(i)] : nullptr;
    for (int id = 0; old != nullptr && id < old->header.variable_count(); ++id)
      file.header.variable(id).begin = old->header.variable(id).begin;
    file.layout =
        formats::compute_layout(file.header, layout_options_, old != nullptr ? &old->layout : nullptr);
  }
  auto& master = files.front().header;
  for (int id = 0; id < master.variable_count(); ++id) {
    // PnetCDF does not pad the size that it says for the scalar of a divided variable.
    if (subfiling_.division_of(id) != nullptr)
      master.variable(id).vsize = static_cast<std::int64_t>(formats::size_of(master.variable(id).type));
  }
  return files;
}

SubfileDriver::Files SubfileDriver::update(const formats::Header& header) const {
  Files files = descriptions_;
  for (int i = 0; i < files_.size(); ++i) {
    auto& file = files[static_cast<std::size_t>(i)];
    auto changed = file_header(header, i);
    for (int id = 0; id < changed.variable_count(); ++id) {
      changed.variable(id).begin = file.header.variable(id).begin;
      changed.variable(id).vsize = file.header.variable(id).vsize;
    }
    file.layout.header_size = formats::encoded_size(changed);
    if (changed.variable_count() > 0 && file.layout.header_size > file.layout.header_extent)
      throw Error(NC_ENOTINDEFINE, "the header of " + files_.paths()[static_cast<std::size_t>(i)] +
                                       " has no room for this: call ncmpi_redef before");
    file.header = std::move(changed);
  }
  return files;
}

void SubfileDriver::adopt(Files files) {
  descriptions_ = std::move(files);
  formats::FileSpace space(descriptions_, files_.paths());
  placement_.emplace(subfiling_, descriptions_, space);
  files_.use_space(std::move(space));
  is_laid_out_ = true;
}

void SubfileDriver::write_header(const formats::Header& header, const formats::Layout&) {
  together_telling(comm_, [&] {
    if (!is_laid_out_) {
      subfiling_.add_variables(header);
      adopt(lay_out(header));
    } else {
      adopt(update(header));
    }
    for_my_files([&](int file) {
      const auto& description = descriptions_[static_cast<std::size_t>(file)];
      files_.file(file).write(0, formats::encode_header(description.header));
    });
  });
  record_count_ = header.record_count;
  if (is_shared_) sync();
}

void SubfileDriver::move_data(const formats::Header& old_header, const formats::Layout&,
                              const formats::Header& new_header, const formats::Layout&) {
  Files changed;
  const formats::Subfiling before = subfiling_;
  together_telling(comm_, [&] {
    subfiling_.add_variables(new_header);
    try {
      changed = lay_out(new_header);
    } catch (...) {
      subfiling_ = before;
      throw;
    }
  });
  for (int i = 0; i < files_.size(); ++i) {
    auto& old = descriptions_[static_cast<std::size_t>(i)];
    old.header.record_count = old_header.record_count;
    const auto& next = changed[static_cast<std::size_t>(i)];
    const DataMove move({old.header, old.layout}, {next.header, next.layout},
                        size_on_root(comm_, [&] { return files_.file(i).size_bytes(); }));
    if (move.stream_bytes() == 0) continue;
    together(comm_, [&] { (void)files_.file(i); });
    move.run(comm_, files_.file(i), transfer_.options().move_bytes, transfer_.options().gap_bytes);
  }
  adopt(std::move(changed));
}

void SubfileDriver::fill(const formats::Header& header, const formats::Layout&, int varid,
                         std::int64_t first_record, std::int64_t records) {
  transfer_.fill(header, *placement_, varid, first_record, records);
}

void SubfileDriver::put(const formats::Header& header, const formats::Layout&, std::span<Access> accesses,
                        Mode mode) {
  transfer_.put(header, *placement_, accesses, mode);
}

void SubfileDriver::get(const formats::Header& header, const formats::Layout&, std::span<Access> accesses,
                        Mode mode) {
  transfer_.get(header, *placement_, accesses, mode);
}

std::int64_t SubfileDriver::agree_record_count(std::int64_t local, Mode mode) {
  const std::int64_t records = transfer_.agree_record_count(std::max(local, record_count_), mode);
  if (mode == Mode::independent || records == record_count_) return records;
  together(comm_, [&] { write_record_counts(records); });
  if (is_shared_) sync();
  return records;
}

void SubfileDriver::write_record_counts(std::int64_t records) {
  if (std::exchange(record_count_, records) == records || !is_writable_) return;
  for_my_files([&](int file) {
    const auto& header = descriptions_[static_cast<std::size_t>(file)].header;
    if (header.record_dimension() >= 0) write_record_count(files_.file(file), header.version, records);
  });
}

void SubfileDriver::sync() {
  together(comm_, [&] {
    if (is_writable_) files_.sync();
  });
}

void SubfileDriver::close(const formats::Header& header) {
  together(comm_, [&] {
    write_record_counts(std::max(header.record_count, record_count_));
    files_.close();
  });
}

void SubfileDriver::discard(bool is_new) {
  together(comm_, [&] {
    files_.close();
    // Some may not have been made yet.
    storage::PosixFileSystem system;
    if (is_new)
      for_my_files([&](int file) {
        const auto& path = files_.paths()[static_cast<std::size_t>(file)];
        if (system.exists(path)) system.remove(path);
      });
  });
}

}  // namespace sluice::api
