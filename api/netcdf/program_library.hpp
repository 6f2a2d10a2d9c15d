#pragma once
#include <dlfcn.h>

#include <cstddef>

#include "dispatch_table.hpp"

namespace sluice::api::netcdf {

/// The netCDF library of the program, by the handle of whatever the calling code is linked with. All
/// functions are found by their names, when they are needed.
class ProgramLibrary {
 public:
  explicit ProgramLibrary(void* handle) noexcept : handle_(handle) {}

  /// The function of that name, as a Function; null: this version of netCDF has none.
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const noexcept {
    return reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

  /// Calls nc_NAME. The parameters have to be those of the function, with their types. NC_ENOTNC4 (-111)
  /// where this version of netCDF has none.
  template <class... Parameters>
  int call(const char* name, Parameters... parameters) const noexcept {
    auto* const function = find<int(Parameters...)>(name);
    return function == nullptr ? not_in_this_version : function(parameters...);
  }

 private:
  static constexpr int not_in_this_version = -111;
  void* handle_;
};

}  // namespace sluice::api::netcdf
