#pragma once
// The names that the parallel file access takes from storage/: accesses as extents of a file.
#include "sluice/storage/extents.hpp"
#include "sluice/storage/file_request.hpp"

namespace sluice::api {

using storage::clip;
using storage::Coverage;
using storage::ElementCodec;
using storage::Extent;
using storage::FileRange;
using storage::FileRequest;
using storage::for_each_clipped;
using storage::for_each_covered;

}  // namespace sluice::api
