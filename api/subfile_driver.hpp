#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "driver.hpp"
#include "first_look.hpp"
#include "open_driver.hpp"
#include "sluice/formats/subfile_headers.hpp"
#include "sluice/formats/subfile_master.hpp"
#include "sluice/formats/subfiles.hpp"
#include "split_files.hpp"

namespace sluice::api {

/// A master file and its subfiles: docs/formats/subfiles.md. The dataset above knows the user's header only;
/// those of the files are derived from it here. Files are numbered from 0, the master.
class SubfileDriver final : public Driver {
 public:
  /// What is known of the files when they have been opened; nothing of new ones.
  struct Facts {
    formats::Subfiling subfiling;
    std::vector<formats::FileSections> sections;
    formats::Version version = formats::Version::cdf1;
    bool has_record_dimension = false;
    std::int64_t record_count = 0;
    SplitFiles::Facts files;
  };

  /// `comm` outlives the driver.
  SubfileDriver(const Communicator& comm, FileSet files, const FileOptions& options, Facts facts);

  /// On rank 0: who else writes to the dataset. Without that there may always be others.
  void watch_others(OtherWriters others) noexcept { files_.transfer().watch_others(std::move(others)); }

  [[nodiscard]] std::string_view kind() const noexcept override { return "subfiles"; }

  void use_layout_options(const formats::LayoutOptions& options) override { layout_options_ = options; }
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

  /// Headers that are to be written, and the bytes of each.
  struct NewHeaders {
    /// Counts the bytes of this rank's share; refers to `header` and `subfiling`.
    NewHeaders(const formats::Header& header, const formats::Subfiling& subfiling, const SplitFiles& files);
    /// Collective: the others'.
    void share_sizes(const Communicator& comm);

    formats::SubfileHeaders headers;
    std::vector<std::int64_t> sizes;
  };

  /// All files laid out; what is there already moves only where it has to.
  [[nodiscard]] Sections lay_out(const NewHeaders& next) const;
  /// Where only metadata changes: throws NC_ENOTINDEFINE where a header has outgrown its room.
  void check_room(const NewHeaders& next) const;
  [[nodiscard]] formats::SubfilePlacement placement(const formats::Header& header) const {
    return {header, subfiling_, sections_, files_.space()};
  }

  SplitFiles files_;
  formats::Subfiling subfiling_;
  Sections sections_;  ///< of the files
  bool is_laid_out_;
  formats::LayoutOptions layout_options_;
};

/// nc_num_subfiles, unless pnetcdf_subfiling is "disable"; 0 where it is not asked for.
[[nodiscard]] int asked_subfiles(const std::map<std::string, std::string>& hints);
/// Whether a master is to be opened with its subfiles: pnetcdf_subfiling is not "disable".
[[nodiscard]] bool are_subfiles_wanted(const std::map<std::string, std::string>& hints);

/// As create_file and open_file. On rank 0 `master` has the master's header, and `reader` what it says of the
/// subfiles, or null where that is to be read from the header.
[[nodiscard]] OpenedDriver create_subfiles(const OpenRequest& request);
[[nodiscard]] OpenedDriver open_subfiles(const OpenRequest& request, FirstLook master,
                                         formats::MasterReader* reader);

/// Removes the subfiles of a master, those that are there. Nothing for what is no master.
void delete_subfiles(const std::string& master);

}  // namespace sluice::api
