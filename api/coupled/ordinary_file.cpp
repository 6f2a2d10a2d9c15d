#include "ordinary_file.hpp"

#include <sys/stat.h>

#include <exception>

#include "coupled_group.hpp"

namespace sluice::api {

void tell_of_ordinary_file(const runtime::ClientEnvironment& environment, const std::string& path,
                           OrdinaryUse use) noexcept {
  if (!environment.is_coupled()) return;
  try {
    runtime::OrdinaryFile file;
    file.rule = runtime::find_other_rule(environment, path);
    if (file.rule == runtime::OrdinaryFile::no_rule && environment.rules.empty()) return;
    file.path = absolute_path(path);
    file.is_written = use == OrdinaryUse::written;
    struct stat facts {};
    if (::stat(file.path.c_str(), &facts) == 0) file.modified_s = facts.st_mtim.tv_sec;
    process_session(environment)->tell_of(file);
  } catch (const std::exception&) {  // without a matcher the file is still ordinary
  }
}

}  // namespace sluice::api
