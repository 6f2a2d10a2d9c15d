// Memory of this library alone. A signal handler may have interrupted the program's allocator, or that of the
// C library, and POSIX lets it open files nevertheless. So what this library and the C++ library in it ask
// for comes from here (the linker's --wrap): docs/design/files-by-any-program.md.
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sluice/files/held_signals.hpp"

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
void* __real_malloc(std::size_t bytes);
void __real_free(void* memory);
void* __wrap_malloc(std::size_t bytes) noexcept;
void* __wrap_calloc(std::size_t count, std::size_t bytes) noexcept;
void* __wrap_realloc(void* memory, std::size_t bytes) noexcept;
void __wrap_free(void* memory) noexcept;
// NOLINTEND(bugprone-reserved-identifier)
}

namespace {

/// Stands before each block.
struct Header {
  std::uint64_t mark;  ///< tells blocks from memory that the C library has given
  std::uint64_t
      bytes;  ///< of the block with its header; those from `most_bytes` on are mappings of their own
};

constexpr std::uint64_t own_mark = 0x736c756963653031;
constexpr std::size_t least_bytes = 64, most_bytes = 65536, chunk_bytes = 4 * most_bytes;
constexpr std::size_t page_bytes = 4096;

/// A forked child finds zeros here: nobody holds the lock, and there are no free blocks. Another thread of
/// its parent may have been in the middle of a change.
struct Pool {
  pthread_mutex_t mutex;
  void* free[std::bit_width(most_bytes)];
  std::byte* next;
  std::byte* end;
};
static_assert(sizeof(Pool) <= page_bytes);

void* map(std::size_t bytes) noexcept {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

Pool* pool() noexcept {
  static constinit std::atomic<Pool*> known{nullptr};
  Pool* here = known.load(std::memory_order_acquire);
  if (here != nullptr) return here;
  void* const made = map(page_bytes);
  if (made == nullptr) return nullptr;
  (void)::madvise(made, page_bytes, MADV_WIPEONFORK);
  if (known.compare_exchange_strong(here, static_cast<Pool*>(made))) return static_cast<Pool*>(made);
  (void)::munmap(made, page_bytes);
  return here;
}

std::uint64_t mark_of(const Header* header) noexcept {
  return own_mark ^ reinterpret_cast<std::uintptr_t>(header);
}

/// The header of one of these blocks; null: it is none. These blocks never begin with a page.
Header* header_of(void* memory) noexcept {
  if (reinterpret_cast<std::uintptr_t>(memory) % page_bytes == 0) return nullptr;
  auto* const header = static_cast<Header*>(memory) - 1;
  return header->mark == mark_of(header) ? header : nullptr;
}

void* marked(void* block, std::size_t bytes) noexcept {
  auto* const header = static_cast<Header*>(block);
  header->mark = mark_of(header);
  header->bytes = bytes;
  return header + 1;
}

/// `bytes`: a power of two.
void* take(Pool& from, std::size_t bytes) noexcept {
  void*& first = from.free[std::countr_zero(bytes)];  // each free block begins with the next one's place
  if (first != nullptr) {
    void* const block = first;
    first = *static_cast<void**>(block);
    return block;
  }
  if (static_cast<std::size_t>(from.end - from.next) < bytes) {
    auto* const chunk = static_cast<std::byte*>(map(chunk_bytes));
    if (chunk == nullptr) return nullptr;
    from.next = chunk;
    from.end = chunk + chunk_bytes;
  }
  void* const block = from.next;
  from.next += bytes;
  return block;
}

template <class Work>
auto locked(Pool& pool, const Work& work) noexcept {
  const sluice::files::HeldSignals held;
  (void)::pthread_mutex_lock(&pool.mutex);
  const auto outcome = work();
  (void)::pthread_mutex_unlock(&pool.mutex);
  return outcome;
}

}  // namespace

extern "C" {

void* __wrap_malloc(std::size_t bytes) noexcept {
  constexpr std::size_t limit = std::size_t{1} << 40;
  if (bytes > limit) return nullptr;
  const std::size_t whole = bytes + sizeof(Header);
  if (whole > most_bytes) {
    void* const block = map(whole);
    return block == nullptr ? nullptr : marked(block, whole);
  }
  Pool* const from = pool();
  if (from == nullptr) return nullptr;
  const std::size_t rounded = whole < least_bytes ? least_bytes : std::bit_ceil(whole);
  void* const block = locked(*from, [&] { return take(*from, rounded); });
  return block == nullptr ? nullptr : marked(block, rounded);
}

void __wrap_free(void* memory) noexcept {
  if (memory == nullptr) return;
  Header* const header = header_of(memory);
  if (header == nullptr) return __real_free(memory);
  const std::size_t bytes = header->bytes;
  header->mark = 0;
  if (bytes > most_bytes) {
    (void)::munmap(header, bytes);
    return;
  }
  Pool* const to = pool();
  (void)locked(*to, [&] {
    void*& first = to->free[std::countr_zero(bytes)];
    *reinterpret_cast<void**>(header) = first;
    return first = header;
  });
}

void* __wrap_calloc(std::size_t count, std::size_t bytes) noexcept {
  if (bytes != 0 && count > SIZE_MAX / bytes) return nullptr;
  void* const memory = __wrap_malloc(count * bytes);
  return memory == nullptr ? nullptr : std::memset(memory, 0, count * bytes);
}

/// Only of blocks from here: nobody else's memory is enlarged in this library.
void* __wrap_realloc(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr) return __wrap_malloc(bytes);
  const Header* const header = header_of(memory);
  if (header == nullptr) return nullptr;
  const std::size_t known = header->bytes - sizeof(Header);
  if (bytes <= known) return memory;
  void* const other = __wrap_malloc(bytes);
  if (other == nullptr) return nullptr;
  std::memcpy(other, memory, known);
  __wrap_free(memory);
  return other;
}

}  // extern "C"

namespace sluice::files {

void* memory_for_program(std::size_t bytes) noexcept {
  return ::__real_malloc(bytes);
}

void free_for_program(void* memory) noexcept {
  ::__real_free(memory);
}

}  // namespace sluice::files
