#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "drain_orders.hpp"
#include "exchange_protocol.hpp"
#include "memory_reads.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/runtime/packet_socket.hpp"

namespace sluice::runtime {

// Files, and what else images are made of, that another matcher has.

/// Does `work`, at once or in a thread, and then `then`, in the loop.
using FileWork = std::function<void(std::function<void()> work, std::function<void()> then)>;
void work_at_once(const std::function<void()>& work, const std::function<void()>& then);
/// Receives the facts of the file, or why it could not be copied.
using FileCopied = std::function<void(const Outcome& outcome, const FileFacts& facts)>;
constexpr std::uint64_t all_bytes = std::numeric_limits<std::uint64_t>::max();

/// Copies a range to the same place in `to`, which is open for writing: up to the end that the file has when
/// the copy begins. The bytes come piece by piece, so that neither loop stands still. `write`: for each
/// piece.
void copy_file(MemoryReads& reads, matcher::MatcherPlace from, const FileRange& range, SharedFile to,
               FileWork write, FileCopied then);
/// What a process of another node is to see of a file that is still open: a file of its own with the bytes
/// that are there by now, or with their number alone (`wants_facts`). Receives why there is none, or the
/// file.
using OpenFileCopied = std::function<void(const Outcome& outcome, const SharedFile& copy)>;
void copy_open_file(MemoryReads& reads, matcher::MatcherPlace from, std::uint64_t file, bool wants_facts,
                    const OpenFileCopied& then);
/// For another matcher: the range, up to the end of the file. `open` may throw Error; null: the file has
/// ended. `read`: reads it.
void read_file(const std::function<SharedFile()>& open, const FileRange& range, const FileWork& read,
               MemoryReceiver receiver);
/// The request tables of a view that other nodes have, with which it is known of every element who has put it
/// last. `node`: this one.
using TablesReceiver = std::function<void(const Outcome& outcome, std::vector<TableCopy> tables)>;
void bring_tables(MemoryReads& reads, const matcher::StepView& view, std::uint32_t node,
                  const TablesReceiver& receiver);
/// Throws IoError.
[[nodiscard]] FileFacts facts_of(const FileDescriptor& file);
/// Gives the file the permissions, times and number of names of `facts`, and their owner where this process
/// may do that; its bytes stay.
void set_facts(const FileDescriptor& file, const FileFacts& facts) noexcept;

}  // namespace sluice::runtime
