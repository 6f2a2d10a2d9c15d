#include "subfile_driver.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "agreement.hpp"

namespace sluice::api {
namespace {

SplitFiles::Contents contents_of(formats::Version version, bool has_record_dimension,
                                 std::span<const formats::FileSections> sections) {
  SplitFiles::Contents contents{version, has_record_dimension, {}};
  for (const auto& file : sections) contents.layouts.push_back(file.layout);
  return contents;
}

}  // namespace

SubfileDriver::SubfileDriver(const Communicator& comm, FileSet files, const FileOptions& options,
                             OpenInfo open_info)
    : files_(comm, std::move(files), options, open_info.files),
      subfiling_(std::move(open_info.subfiling)),
      sections_(std::move(open_info.sections)),
      is_laid_out_(!sections_.empty()) {
  if (!is_laid_out_) return;
  files_.set_record_count(open_info.record_count);
  files_.adopt(contents_of(open_info.version, open_info.has_record_dimension, sections_));
}

SubfileDriver::NewHeaders::NewHeaders(const formats::Header& header, const formats::Subfiling& subfiling,
                                      const SplitFiles& files)
    : headers(header, subfiling), sizes(static_cast<std::size_t>(files.size())) {
  files.for_my_files([&](int file) { sizes[static_cast<std::size_t>(file)] = headers.encoded_size(file); });
}

void SubfileDriver::NewHeaders::share_sizes(const Communicator& comm) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, sizes.data(), static_cast<int>(sizes.size()), MPI_INT64_T, MPI_SUM,
                          comm.get()),
            "exchange the sizes of headers");
}

SubfileDriver::Sections SubfileDriver::lay_out(const NewHeaders& next) const {
  Sections sections;
  for (int file = 0; file < files_.size(); ++file) {
    const auto i = static_cast<std::size_t>(file);
    sections.push_back(
        next.headers.lay_out(file, next.sizes[i], layout_options_, is_laid_out_ ? &sections_[i] : nullptr));
  }
  return sections;
}

void SubfileDriver::check_space(const NewHeaders& next) const {
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const auto& [layout, begins] = sections_[i];
    if (!begins.empty() && next.sizes[i] > layout.header_extent)
      throw Error(NC_ENOTINDEFINE, "the header of " + files_.paths()[i] +
                                       " has no space for this change: call ncmpi_redef first");
  }
}

void SubfileDriver::write_header(const formats::Header& header, const formats::Layout&) {
  std::optional<NewHeaders> next;
  together_telling(files_.comm(), [&] {
    if (!is_laid_out_) subfiling_.add_variables(header);
    next.emplace(header, subfiling_, files_);
  });
  next->share_sizes(files_.comm());
  together_telling(files_.comm(), [&] {
    if (is_laid_out_) {
      check_space(*next);
    } else {
      sections_ = lay_out(*next);
      files_.adopt(contents_of(header.version, header.record_dimension() >= 0, sections_));
      is_laid_out_ = true;
    }
    files_.write_my_headers([&](int file) {
      const auto i = static_cast<std::size_t>(file);
      return next->headers.encode(file, next->sizes[i], sections_[i].begins);
    });
  });
  files_.set_record_count(header.record_count);
  files_.metadata_written();
}

void SubfileDriver::move_data(const formats::Header& old_header, const formats::Layout&,
                              const formats::Header& new_header, const formats::Layout&) {
  const formats::Subfiling before = subfiling_;
  Sections changed;
  try {
    std::optional<NewHeaders> next;
    together_telling(files_.comm(), [&] {
      subfiling_.add_variables(new_header);
      next.emplace(new_header, subfiling_, files_);
    });
    next->share_sizes(files_.comm());
    together_telling(files_.comm(), [&] { changed = lay_out(*next); });
  } catch (...) {
    subfiling_ = before;
    throw;
  }
  auto contents = contents_of(new_header.version, new_header.record_dimension() >= 0, changed);
  files_.move_to(std::move(contents), [&](int file, std::int64_t file_bytes) {
    const auto i = static_cast<std::size_t>(file);
    const auto from = formats::as_bytes(old_header, before, file, sections_[i]);
    const auto to = formats::as_bytes(new_header, subfiling_, file, changed[i]);
    return DataMove({from.header, from.layout}, {to.header, to.layout}, file_bytes);
  });
  sections_ = std::move(changed);
}

void SubfileDriver::fill(const formats::Header& header, const formats::Layout&, int varid,
                         std::int64_t first_record, std::int64_t records) {
  files_.transfer().fill(header, placement(header), varid, first_record, records);
}

void SubfileDriver::put(const formats::Header& header, const formats::Layout&, std::span<Access> accesses,
                        Mode mode) {
  files_.put([&] { files_.transfer().put(header, placement(header), accesses, mode); });
}

void SubfileDriver::close(const formats::Header& header) {
  const auto records = std::max(header.record_count, files_.record_count());
  if (is_laid_out_)
    files_.lengthen([&](int file, std::int64_t file_bytes) {
      const auto description =
          formats::as_bytes(header, subfiling_, file, sections_[static_cast<std::size_t>(file)]);
      const int variables = description.header.variable_count();
      const std::vector<formats::Share> all(static_cast<std::size_t>(variables), formats::Share::in_all);
      const auto shares = file == 0 ? formats::shares_in_master(subfiling_, variables) : all;
      return formats::find_end(description, records, shares, file_bytes);
    });
  files_.close(header.record_count);
}

void SubfileDriver::get(const formats::Header& header, const formats::Layout&, std::span<Access> accesses,
                        Mode mode) {
  files_.transfer().get(header, placement(header), accesses, mode);
}

std::int64_t SubfileDriver::agree_record_count(std::int64_t local, Mode mode) {
  const std::int64_t known = std::max(local, files_.record_count());
  const std::int64_t records = files_.transfer().agree_record_count(known, mode);
  if (mode == Mode::independent || records == files_.record_count()) return records;
  run_collectively(files_.comm(), [&] { files_.write_my_record_counts(records); });
  files_.metadata_written();
  return records;
}

}  // namespace sluice::api
