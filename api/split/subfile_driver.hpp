#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "driver.hpp"
#include "header_probe.hpp"
#include "open_driver.hpp"
#include "sluice/formats/subfile_headers.hpp"
#include "sluice/formats/subfile_master.hpp"
#include "sluice/formats/subfiles.hpp"
#include "split_files.hpp"

namespace sluice::api {

/// A master file and its subfiles: docs/formats/subfiles.md. The dataset only knows the user's header; this
/// driver derives the headers of the files. File 0 is the master.
class SubfileDriver final : public Driver {
 public:
  /// Properties of the files after an open; empty for new files.
  struct OpenInfo {
    formats::Subfiling subfiling;
    std::vector<formats::FileSections> sections;
    formats::Version version = formats::Version::cdf1;
    bool has_record_dimension = false;
    std::int64_t record_count = 0;
    SplitFiles::OpenInfo files;
  };

  /// `comm` outlives the driver.
  SubfileDriver(const Communicator& comm, FileSet files, const FileOptions& options, OpenInfo open_info);

  /// On rank 0: sets the detector of other writers. Without it, other writers are always assumed.
  void watch_others(WriterLock others) noexcept { files_.transfer().watch_others(std::move(others)); }

  [[nodiscard]] std::string_view kind() const noexcept override { return "subfiles"; }

  void use_layout_options(const formats::LayoutOptions& options, const formats::LayoutOptions&) override {
    layout_options_ = options;
  }
  void write_header(const formats::Header& header, const formats::Layout& layout) override;
  void move_data(const formats::Header& old_header, const formats::Layout& old_layout,
                 const formats::Header& new_header, const formats::Layout& new_layout) override;
  void fill(const formats::Header& header, const formats::Layout& layout, int varid,
            std::int64_t first_record, std::int64_t records) override;
  void put(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
           Mode mode) override;
  void get(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
           Mode mode) override;
  std::int64_t agree_record_count(std::int64_t local, Mode mode) override;
  void sync() override { files_.sync(); }
  void flush(Mode) override {}
  void close(const formats::Header& header) override;
  void discard(bool is_new) override { files_.discard(is_new); }

 private:
  using Sections = std::vector<formats::FileSections>;

  /// New headers, and the size of each in bytes.
  struct NewHeaders {
    /// Computes the sizes of this rank's share; refers to `header` and `subfiling`.
    NewHeaders(const formats::Header& header, const formats::Subfiling& subfiling, const SplitFiles& files);
    /// Collective: sends the sizes to all ranks.
    void share_sizes(const Communicator& comm);

    formats::SubfileHeaders headers;
    std::vector<std::int64_t> sizes;
  };

  /// Lays out all files; existing data moves only where necessary.
  [[nodiscard]] Sections lay_out(const NewHeaders& next) const;
  /// For a change of metadata only: throws NC_ENOTINDEFINE if a header has outgrown its space.
  void check_space(const NewHeaders& next) const;
  [[nodiscard]] formats::SubfilePlacement placement(const formats::Header& header) const {
    return {header, subfiling_, sections_, files_.space()};
  }

  SplitFiles files_;
  formats::Subfiling subfiling_;
  Sections sections_;  ///< of the files
  bool is_laid_out_;
  formats::LayoutOptions layout_options_;
};

/// nc_num_subfiles, unless pnetcdf_subfiling is "disable"; 0 if it is not requested.
[[nodiscard]] int asked_subfiles(const std::map<std::string, std::string>& hints);
/// Whether to open a master with its subfiles: pnetcdf_subfiling is not "disable".
[[nodiscard]] bool are_subfiles_wanted(const std::map<std::string, std::string>& hints);

/// See create_file and open_file. On rank 0 `master` contains the master's header. `reader` contains its
/// description of the subfiles; null means that the header must be read for it.
[[nodiscard]] OpenedDriver create_subfiles(const OpenRequest& request);
[[nodiscard]] OpenedDriver open_subfiles(const OpenRequest& request, HeaderProbe master,
                                         formats::MasterReader* reader);

/// Removes the existing subfiles of a master. Does nothing for a file that is not a master.
void delete_subfiles(const std::string& master);

}  // namespace sluice::api
