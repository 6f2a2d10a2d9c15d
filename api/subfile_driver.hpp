#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver.hpp"
#include "first_look.hpp"
#include "open_driver.hpp"
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
    SplitFiles::Descriptions descriptions;
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
  void close(const formats::Header& header) override { files_.close(header.record_count); }
  void discard(bool is_new) override { files_.discard(is_new); }

 private:
  [[nodiscard]] formats::Header file_header(const formats::Header& header, int file) const;
  /// All files' headers, laid out; what is there already moves only where it has to.
  [[nodiscard]] SplitFiles::Descriptions lay_out(const formats::Header& header) const;
  /// The headers anew, where only metadata changed. Throws NC_ENOTINDEFINE where one has outgrown its room.
  [[nodiscard]] SplitFiles::Descriptions update(const formats::Header& header) const;
  void adopt(SplitFiles::Descriptions files);

  SplitFiles files_;
  formats::Subfiling subfiling_;
  bool is_laid_out_;
  formats::LayoutOptions layout_options_;
  std::optional<formats::SubfilePlacement> placement_;
};

/// nc_num_subfiles, unless pnetcdf_subfiling is "disable"; 0 where it is not asked for.
[[nodiscard]] int asked_subfiles(const std::map<std::string, std::string>& hints);
/// Whether a master is to be opened with its subfiles: pnetcdf_subfiling is not "disable".
[[nodiscard]] bool are_subfiles_wanted(const std::map<std::string, std::string>& hints);

/// As create_file and open_file. `master` is what the master's header says.
[[nodiscard]] OpenedDriver create_subfiles(const OpenRequest& request);
[[nodiscard]] OpenedDriver open_subfiles(const OpenRequest& request, FirstLook master);

/// Removes the subfiles of a master, those that are there. Nothing for what is no master.
void delete_subfiles(const std::string& master);

}  // namespace sluice::api
