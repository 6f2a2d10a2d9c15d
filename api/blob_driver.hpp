#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver.hpp"
#include "first_look.hpp"
#include "gather_runs.hpp"
#include "open_driver.hpp"
#include "pending_puts.hpp"
#include "sluice/formats/blob_placement.hpp"
#include "split_files.hpp"

namespace sluice::api {

/// A master and its blob files: docs/formats/blobs.md. What is put into a variable is kept in memory until it
/// is known which elements each process puts (flush_pending), which gives the variable its place; from then
/// on it is accessed as in any file.
class BlobDriver final : public Driver {
 public:
  struct Facts {
    formats::Blobs blobs;
    formats::Header header;                 ///< of an existing dataset: the user's
    SplitFiles::Descriptions descriptions;  ///< empty for a new one
    SplitFiles::Facts files;
    std::int64_t pending_bytes = 0;  ///< of a process, that are kept in memory at most
    formats::MapLoader load;         ///< where the dataset is not written; else the maps have their runs
  };

  /// `comm` outlives the driver.
  BlobDriver(const Communicator& comm, FileSet files, const FileOptions& options, Facts facts);

  [[nodiscard]] std::string_view kind() const noexcept override { return "blobs"; }

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
  void end_independent() override { flush_pending(); }
  void sync() override;
  void flush(Mode mode) override {
    if (mode == Mode::collective) flush_pending();
  }
  void close(const formats::Header& header) override;
  void discard(bool is_new) override { files_.discard(is_new); }

 private:
  [[nodiscard]] const Communicator& comm() const noexcept { return files_.comm(); }
  [[nodiscard]] bool is_undecided(int varid) const {
    return blobs_.kept[static_cast<std::size_t>(varid)] == formats::Blobs::undecided;
  }
  /// Variables without a place; the same on all ranks.
  [[nodiscard]] std::vector<int> undecided() const;

  /// Collective, before accesses are put: flushes where they come after others that are pending, of whichever
  /// process, to one of the same variables, or where too much is pending.
  void flush_before(std::span<const Access> accesses);
  /// Collective: gives a place to all variables that anybody has put something into, and writes that.
  void flush_pending();
  /// Collective: which variables have been put, and how they are to be kept; adds maps.
  void decide(const std::vector<int>& variables);
  int add_map(int varid, const std::vector<formats::ElementRun>& runs);
  /// Collective: the files get what has been decided.
  void lay_out_again();
  void write_new_maps(std::size_t known_maps);
  void write_pending();
  void place();
  /// Collective: files get their length.
  void lengthen();
  /// By file and id of a variable as the files are: the id that it will have.
  [[nodiscard]] std::vector<std::vector<int>> new_ids() const;
  [[nodiscard]] SplitFiles::Descriptions lay_out(const std::vector<std::vector<int>>& ids) const;

  SplitFiles files_;
  SplitFiles::Descriptions descriptions_;  ///< of the files
  formats::Blobs blobs_;
  /// By what the processes put and the lengths of the dimensions: the map, or Blobs::whole.
  std::map<std::pair<PatternId, std::vector<std::int64_t>>, int> map_of_pattern_;
  std::vector<int> order_in_files_;  ///< Blobs::order as the files have it
  formats::Header header_;           ///< the user's, as it is in the files
  bool is_laid_out_;
  bool is_writable_;
  formats::MapLoader load_;
  std::int64_t most_pending_bytes_;
  formats::LayoutOptions layout_options_;
  std::optional<formats::BlobPlacement> placement_;
  PendingPuts pending_;
  std::vector<std::uint64_t>
      pending_variables_;  ///< a bit for each that a collective call has put, by anybody
};

/// Whether the hints ask for blobs: sluice_layout is "blob".
[[nodiscard]] bool are_blobs_asked(const std::map<std::string, std::string>& hints);

/// As create_file and open_file. `master` is what the master's header says.
[[nodiscard]] OpenedDriver create_blobs(const OpenRequest& request);
[[nodiscard]] OpenedDriver open_blobs(const OpenRequest& request, FirstLook master);

/// Removes the blob files of a master, those that are there. Nothing for what is no master.
void delete_blobs(const std::string& master);

}  // namespace sluice::api
