#pragma once
#include "sluice/storage/file_descriptor.hpp"

namespace sluice::runtime {

using storage::FileDescriptor;

}  // namespace sluice::runtime
