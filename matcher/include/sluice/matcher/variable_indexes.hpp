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

/// The write requests of a variable: those in `index`, with the log offsets of each writer moved by `shifts`
/// (ascending writers; those that are not named are not moved). Several variables may have the same index.
struct VariableWrites {
  WriteIndex& index;
  std::span<const LogShift> shifts;
};

/// The write requests of a step (or of a part of it), in one index per variable. Variables that the same
/// processes wrote by the same lists of boxes, in the same order, share one, and so do those that nobody
/// wrote: climate models write hundreds of variables by two or three lists of very many boxes.
class VariableIndexes {
 public:
  VariableIndexes() = default;
  /// Empty indexes for the variables of a header.
  explicit VariableIndexes(const formats::Header& header);

  /// Adds a request or a fill, with everything that the header says about it checked. Throws Error(NC_EIO).
  void add(std::uint32_t writer, const TableEntry& entry);
  /// Adds a list request: its requests are indexed when they are asked for, and nothing may be added to the
  /// variable from then on. Throws Error(NC_EIO).
  void add(std::uint32_t writer, const TableEntry& entry, std::shared_ptr<const ListedBoxes> list);

  /// The write requests of variable `varid`; holds until something is added. Throws Error(NC_EIO) when the
  /// header has no such variable.
  [[nodiscard]] VariableWrites writes(int varid);
  [[nodiscard]] std::size_t element_bytes(int varid) const {
    return const_cast<VariableIndexes*>(this)->at(varid).element_bytes;
  }
  [[nodiscard]] bool has_records(int varid) const {
    return const_cast<VariableIndexes*>(this)->at(varid).has_records;
  }
  /// The end of the records that requests were added for.
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
    std::vector<ListRequest> lists;  ///< in place of `writes`, as long as there is nothing else
    /// Whose index has the lists, too; -1: not known yet.
    int indexed_by = -1;
    std::vector<LogShift> shifts;
  };
  /// All that matching depends on, but for where each writer's data begins.
  using Shape = std::vector<std::uint64_t>;

  [[nodiscard]] Variable& at(int varid);
  void expect_dimensions(const Variable& written, int varid, std::size_t dimensions) const;
  void index_lists(Variable& variable);
  [[nodiscard]] WriteIndex& nothing_for(const Variable& variable);
  void settle(int varid, Variable& variable);
  [[nodiscard]] static Shape shape_of(const Variable& variable);
  [[nodiscard]] static std::vector<LogShift> shifts_between(const Variable& indexed, const Variable& other);

  std::vector<Variable> variables_;
  std::map<Shape, int> indexed_shapes_;  ///< of variables with lists: which one has the index
  std::map<Shape, WriteIndex> nothing_;  ///< for variables that nobody has put
  std::int64_t records_end_ = 0;
};

}  // namespace sluice::matcher
