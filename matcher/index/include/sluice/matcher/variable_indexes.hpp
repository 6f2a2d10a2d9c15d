#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/matcher/log_shift.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/table_scan.hpp"
#include "sluice/matcher/write_index.hpp"

namespace sluice::matcher {

/// The write requests of a variable: the requests in `index`, with the log offsets of each writer moved by
/// `shifts`. `shifts` has ascending writers; a writer that it does not name is not moved. Several variables
/// may share an index.
struct VariableWrites {
  WriteIndex& index;
  std::span<const LogShift> shifts;
};

/// The write requests of a step, or of a part of a step, in one index per variable. Variables share an index
/// when the same processes wrote them with the same lists of boxes, in the same order. Unwritten variables
/// share one too. Climate models write hundreds of variables with two or three lists of very many boxes.
class VariableIndexes {
 public:
  VariableIndexes() = default;
  /// Makes empty indexes for the variables of a header.
  explicit VariableIndexes(const formats::Header& header);

  /// Whether the header has the variable.
  [[nodiscard]] bool has_variable(int varid) const noexcept {
    return varid >= 0 && static_cast<std::size_t>(varid) < variables_.size();
  }

  /// Adds a request or a fill. Checks it against the header. Throws Error(NC_EIO).
  void add(std::uint32_t writer, const TableEntry& entry);
  /// Adds a list request. Its requests are indexed on demand; from then on nothing may be added to the
  /// variable. Throws Error(NC_EIO).
  void add(std::uint32_t writer, const TableEntry& entry, std::shared_ptr<const ListedBoxes> list);

  /// The write requests of variable `varid`. The result is valid until the next add(). Throws Error(NC_EIO)
  /// when the header has no such variable.
  [[nodiscard]] VariableWrites writes(int varid);
  [[nodiscard]] std::size_t element_bytes(int varid) const {
    return const_cast<VariableIndexes*>(this)->at(varid).element_bytes;
  }
  [[nodiscard]] bool has_records(int varid) const {
    return const_cast<VariableIndexes*>(this)->at(varid).has_records;
  }
  /// The end of the records of all added requests.
  [[nodiscard]] std::int64_t records_end() const noexcept { return records_end_; }

 private:
  struct ListRequest {
    std::uint32_t writer = 0;
    std::uint64_t sequence = 0;
    std::uint64_t log_offset = 0;
    std::uint64_t element_bytes = 0;
    std::shared_ptr<const ListedBoxes> list;  ///< shared with other requests
  };
  struct Variable {
    std::size_t element_bytes = 0;
    int dimensions = 0;
    bool has_records = false;
    WriteIndex writes;
    std::vector<ListRequest> lists;  ///< used in place of `writes` while the variable has only lists
    /// The variable whose index has the lists, too; -1: not known yet.
    int indexed_by = -1;
    std::vector<LogShift> shifts;
  };
  /// All inputs of matching, except where each writer's data begins.
  using Shape = std::vector<std::uint64_t>;

  [[nodiscard]] Variable& at(int varid);
  void expect_dimensions(const Variable& written, int varid, std::size_t dimensions) const;
  void index_lists(Variable& variable);
  [[nodiscard]] WriteIndex& nothing_for(const Variable& variable);
  void settle(int varid, Variable& variable);
  [[nodiscard]] static Shape shape_of(const Variable& variable);
  [[nodiscard]] static std::vector<LogShift> shifts_between(const Variable& indexed, const Variable& other);

  std::vector<Variable> variables_;
  std::map<Shape, int> indexed_shapes_;  ///< for variables with lists: the variable that has the index
  std::map<Shape, WriteIndex> nothing_;  ///< for variables without puts
  std::int64_t records_end_ = 0;
};

}  // namespace sluice::matcher
