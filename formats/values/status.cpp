#include "sluice/formats/status.hpp"

namespace sluice {

const char* status_text(int status) noexcept {
  switch (status) {
#define SLUICE_STATUS(name, value, text) \
  case value:                            \
    return text;
#include "sluice/formats/status.def"
#undef SLUICE_STATUS
    default:
      return nullptr;
  }
}

const char* status_name(int status) noexcept {
  switch (status) {
#define SLUICE_STATUS(name, value, text) \
  case value:                            \
    return #name;
#include "sluice/formats/status.def"
#undef SLUICE_STATUS
    default:
      return nullptr;
  }
}

}  // namespace sluice
