#include "elf_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {
namespace {

constexpr std::string_view pnetcdf_symbol = "ncmpi_create";
constexpr std::string_view pnetcdf_text = "PNETCDF_RELAX_COORD_BOUND";

#if defined(__x86_64__)
constexpr Elf64_Half this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half this_machine = EM_AARCH64;
#elif defined(__powerpc64__)
constexpr Elf64_Half this_machine = EM_PPC64;
#elif defined(__riscv)
constexpr Elf64_Half this_machine = EM_RISCV;
#else
constexpr Elf64_Half this_machine = EM_NONE;
#endif

/// Thrown inside this file for an ELF file that contradicts its headers.
struct Damaged {};

/// Reads parts of a file; checks every length against the file's length.
class ElfReader {
 public:
  explicit ElfReader(const std::filesystem::path& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    const off_t end = file_ ? ::lseek(file_.number(), 0, SEEK_END) : -1;
    if (end < 0) throw Damaged{};
    size_ = static_cast<std::uint64_t>(end);
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  [[nodiscard]] std::string bytes(std::uint64_t offset, std::uint64_t count) const {
    if (offset > size_ || count > size_ - offset) throw Damaged{};
    std::string result(count, '\0');
    for (std::uint64_t done = 0; done < count;) {
      const ssize_t got =
          ::pread(file_.number(), result.data() + done, count - done, static_cast<off_t>(offset + done));
      if (got <= 0) throw Damaged{};
      done += static_cast<std::uint64_t>(got);
    }
    return result;
  }

  template <class Record>
  [[nodiscard]] std::vector<Record> records(std::uint64_t offset, std::uint64_t total_bytes) const {
    const std::string raw = bytes(offset, total_bytes / sizeof(Record) * sizeof(Record));
    std::vector<Record> result(raw.size() / sizeof(Record));
    if (!raw.empty()) std::memcpy(result.data(), raw.data(), raw.size());
    return result;
  }

 private:
  runtime::FileDescriptor file_;
  std::uint64_t size_ = 0;
};

/// The text that starts at `offset` of a string table.
std::string_view text_at(const std::string& table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = std::string_view(table).substr(offset);
  return rest.substr(0, std::min(rest.find('\0'), rest.size()));
}

void read_segments(const ElfReader& reader, const Elf64_Ehdr& header, ElfFacts& facts) {
  if (header.e_phentsize != sizeof(Elf64_Phdr)) throw Damaged{};
  for (const Elf64_Phdr& segment :
       reader.records<Elf64_Phdr>(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr))) {
    if (segment.p_type == PT_INTERP)
      facts.interpreter = std::string(text_at(reader.bytes(segment.p_offset, segment.p_filesz), 0));
  }
}

void read_sections(const ElfReader& reader, const Elf64_Ehdr& header, ElfFacts& facts) {
  if (header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return;
  const auto sections =
      reader.records<Elf64_Shdr>(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& section : sections) {
    const bool is_symbols = section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM;
    if ((!is_symbols && section.sh_type != SHT_DYNAMIC) || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& linked = sections[section.sh_link];
    const std::string names = reader.bytes(linked.sh_offset, linked.sh_size);
    if (is_symbols) {
      facts.has_symbol_table |= section.sh_type == SHT_SYMTAB;
      for (const Elf64_Sym& symbol : reader.records<Elf64_Sym>(section.sh_offset, section.sh_size)) {
        facts.defines_pnetcdf |=
            symbol.st_shndx != SHN_UNDEF && text_at(names, symbol.st_name) == pnetcdf_symbol;
      }
    } else {
      for (const Elf64_Dyn& entry : reader.records<Elf64_Dyn>(section.sh_offset, section.sh_size)) {
        if (entry.d_tag == DT_NEEDED) facts.needed.emplace_back(text_at(names, entry.d_un.d_val));
      }
    }
  }
}

}  // namespace

std::optional<ElfFacts> read_elf_facts(const std::filesystem::path& path) {
  try {
    const ElfReader reader(path);
    const std::string identity = reader.bytes(0, EI_NIDENT);
    if (!identity.starts_with(std::string_view(ELFMAG, SELFMAG))) return std::nullopt;
    ElfFacts facts;
    constexpr char our_order = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    if (identity[EI_CLASS] != ELFCLASS64 || identity[EI_DATA] != our_order) return facts;
    const Elf64_Ehdr header = reader.records<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr)).front();
    facts.is_this_machine = header.e_machine == this_machine;
    read_segments(reader, header, facts);
    read_sections(reader, header, facts);
    return facts;
  } catch (const Damaged&) {
    return std::nullopt;
  }
}

bool contains_pnetcdf_text(const std::filesystem::path& path) {
  constexpr std::uint64_t block = std::uint64_t{1} << 20;
  try {
    const ElfReader reader(path);
    std::string window;
    for (std::uint64_t offset = 0; offset < reader.size(); offset += block) {
      window += reader.bytes(offset, std::min(block, reader.size() - offset));
      if (window.find(pnetcdf_text) != std::string::npos) return true;
      window.erase(0, window.size() - std::min(window.size(), pnetcdf_text.size()));
    }
  } catch (const Damaged&) {
  }
  return false;
}

}  // namespace sluice::coordinator
