#include "sluice/workflows/usable_memory.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

using namespace sluice::workflows;
namespace fs = std::filesystem;

namespace {

/// A directory like /sys/fs/cgroup.
class Groups {
 public:
  Groups() : root_(fs::temp_directory_path() / "sluice-groups-XXXXXX") {
    std::string name = root_;
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  ~Groups() { fs::remove_all(root_); }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  void limit(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }
  [[nodiscard]] const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

}  // namespace

TEST_CASE("a control group's limit is the least of its own and of those above it") {
  const Groups groups;
  const std::string own = "0::/job_7/step_0\n";
  CHECK_FALSE(control_group_limit(own, groups.root()));
  groups.limit("job_7/step_0/memory.max", "max");
  CHECK_FALSE(control_group_limit(own, groups.root()));
  groups.limit("job_7/memory.max", "1073741824");
  CHECK(control_group_limit(own, groups.root()) == 1073741824U);
  groups.limit("job_7/step_0/memory.max", "536870912");
  CHECK(control_group_limit(own, groups.root()) == 536870912U);
  groups.limit("job_8/memory.max", "4096");
  CHECK(control_group_limit(own, groups.root()) == 536870912U);
}

TEST_CASE("of version 1 the groups of the memory controller count") {
  const Groups groups;
  const std::string own = "8:pids:/a\n4:cpu,memory:/slurm/uid_1\n0::/\nnonsense\n";
  groups.limit("memory/memory.limit_in_bytes", "9223372036854771712");  // no limit
  groups.limit("memory/a/memory.limit_in_bytes", "4096");
  CHECK_FALSE(control_group_limit(own, groups.root()));
  groups.limit("memory/slurm/memory.limit_in_bytes", "2147483648");
  CHECK(control_group_limit(own, groups.root()) == 2147483648U);
}

TEST_CASE("the usable memory is a part of this machine's") {
  CHECK(usable_memory_bytes() > 0);
}
