#include "split_layouts.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "blob_driver.hpp"
#include "process_blob_driver.hpp"
#include "sluice/formats/blobs.hpp"
#include "sluice/formats/subfiles.hpp"
#include "subfile_driver.hpp"

namespace sluice::api {

namespace {

/// First: of its masters only rank 0 has the header, so the other layouts must not look at that.
constexpr SplitLayout subfiles{
    // A program that asks for blobs, too, gets blobs.
    .is_asked =
        [](const Hints& hints) {
          return asked_subfiles(hints) > 1 && !are_blobs_asked(hints) && !are_process_blobs_asked(hints);
        },
    .has =
        [](const FoundMaster& found, const Hints& hints) {
          const bool is_master =
              found.subfiles != nullptr || formats::subfile_count(found.look.header.header) > 0;
          return is_master && are_subfiles_wanted(hints);
        },
    .create = create_subfiles,
    .open = [](const OpenRequest& request,
               FoundMaster found) { return open_subfiles(request, std::move(found.look), found.subfiles); },
    .remove_files_of = delete_subfiles,
    .through = matcher::Through::subfiles,
    // By default there is one subfile for each node, and at least two.
    .ask =
        [](Hints& hints, int nodes) {
          hints.erase("sluice_layout");
          hints.emplace("nc_num_subfiles", std::to_string(std::max(nodes, 2)));
        },
};

constexpr SplitLayout blobs{
    .is_asked = are_blobs_asked,
    .has = [](const FoundMaster& found,
              const Hints& /*hints*/) { return formats::blob_file_count(found.look.header.header) > 0; },
    .create = create_blobs,
    .open = [](const OpenRequest& request,
               FoundMaster found) { return open_blobs(request, std::move(found.look)); },
    .remove_files_of = delete_blobs,
    .through = matcher::Through::blobs,
    // The program may have chosen the kind of blobs.
    .ask =
        [](Hints& hints, int /*nodes*/) {
          std::string& layout = hints["sluice_layout"];
          if (!layout.starts_with("blob")) layout = "blob";
        },
};

constexpr SplitLayout process_blobs{
    .is_asked = are_process_blobs_asked,
    .has =
        [](const FoundMaster& found, const Hints& /*hints*/) {
          return formats::process_blob_file_count(found.look.header.header) > 0;
        },
    .create = create_process_blobs,
    .open = [](const OpenRequest& request,
               FoundMaster found) { return open_process_blobs(request, found.look); },
    .remove_files_of = delete_process_blobs,
};

constexpr std::array layouts{subfiles, blobs, process_blobs};

}  // namespace

std::span<const SplitLayout> split_layouts() noexcept {
  return layouts;
}

}  // namespace sluice::api
