#include "subfile_driver.hpp"

#include <algorithm>
#include <utility>

#include "agreement.hpp"
#include "sluice/formats/cdf.hpp"

namespace sluice::api {

SubfileDriver::SubfileDriver(const Communicator& comm, FileSet files, const FileOptions& options, Facts facts)
    : files_(comm, std::move(files), options, facts.files),
      subfiling_(std::move(facts.subfiling)),
      is_laid_out_(!facts.descriptions.empty()) {
  if (!is_laid_out_) return;
  files_.set_record_count(facts.descriptions.front().header.record_count);
  adopt(std::move(facts.descriptions));
}

formats::Header SubfileDriver::file_header(const formats::Header& header, int file) const {
  return file == 0 ? formats::master_header(header, subfiling_)
                   : formats::subfile_header(header, subfiling_, file - 1);
}

SplitFiles::Descriptions SubfileDriver::lay_out(const formats::Header& header) const {
  SplitFiles::Descriptions files(static_cast<std::size_t>(files_.size()));
  for (int i = 0; i < files_.size(); ++i) {
    auto& file = files[static_cast<std::size_t>(i)];
    file.header = file_header(header, i);
    const auto* const old = is_laid_out_ ? &files_.descriptions()[static_cast<std::size_t>(i)] : nullptr;
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

SplitFiles::Descriptions SubfileDriver::update(const formats::Header& header) const {
  auto files = files_.descriptions();
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

void SubfileDriver::adopt(SplitFiles::Descriptions files) {
  files_.adopt(std::move(files));
  placement_.emplace(subfiling_, files_.descriptions(), files_.space());
  is_laid_out_ = true;
}

void SubfileDriver::write_header(const formats::Header& header, const formats::Layout&) {
  together_telling(files_.comm(), [&] {
    if (!is_laid_out_) {
      subfiling_.add_variables(header);
      adopt(lay_out(header));
    } else {
      adopt(update(header));
    }
    files_.write_my_headers();
  });
  files_.set_record_count(header.record_count);
  files_.metadata_written();
}

void SubfileDriver::move_data(const formats::Header& old_header, const formats::Layout&,
                              const formats::Header& new_header, const formats::Layout&) {
  SplitFiles::Descriptions changed;
  const formats::Subfiling before = subfiling_;
  together_telling(files_.comm(), [&] {
    subfiling_.add_variables(new_header);
    try {
      changed = lay_out(new_header);
    } catch (...) {
      subfiling_ = before;
      throw;
    }
  });
  files_.move_to(std::move(changed), old_header.record_count);
  placement_.emplace(subfiling_, files_.descriptions(), files_.space());
}

void SubfileDriver::fill(const formats::Header& header, const formats::Layout&, int varid,
                         std::int64_t first_record, std::int64_t records) {
  files_.transfer().fill(header, *placement_, varid, first_record, records);
}

void SubfileDriver::put(const formats::Header& header, const formats::Layout&, std::span<Access> accesses,
                        Mode mode) {
  files_.transfer().put(header, *placement_, accesses, mode);
}

void SubfileDriver::get(const formats::Header& header, const formats::Layout&, std::span<Access> accesses,
                        Mode mode) {
  files_.transfer().get(header, *placement_, accesses, mode);
}

std::int64_t SubfileDriver::agree_record_count(std::int64_t local, Mode mode) {
  const std::int64_t known = std::max(local, files_.record_count());
  const std::int64_t records = files_.transfer().agree_record_count(known, mode);
  if (mode == Mode::independent || records == files_.record_count()) return records;
  together(files_.comm(), [&] { files_.write_my_record_counts(records); });
  files_.metadata_written();
  return records;
}

}  // namespace sluice::api
