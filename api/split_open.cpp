#include "split_open.hpp"

#include "agreement.hpp"
#include "file_options.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {

void prepare_files(const Communicator& comm, const std::vector<std::string>& paths, bool keeps_existing) {
  together_telling(comm, [&] {
    for (auto i = static_cast<std::size_t>(comm.rank()); i < paths.size();
         i += static_cast<std::size_t>(comm.size()))
      storage::prepare_creation(paths[i], keeps_existing);
  });
}

SplitFiles::Descriptions describe_files(const OpenRequest& request, const FirstLook& master,
                                        const std::vector<std::string>& paths) {
  const std::vector<std::string> others(paths.begin() + 1, paths.end());
  const auto chunk_bytes = file_options(request.hints, true).header_chunk_bytes;
  const auto headers = look_at_all(request.comm, others, chunk_bytes);
  SplitFiles::Descriptions files;
  together_telling(request.comm, [&] {
    const auto describe = [&](const formats::DecodedHeader& decoded) {
      files.push_back({decoded.header, formats::layout_of(decoded.header, decoded.size_bytes)});
    };
    describe(master.header);
    for (const auto& header : headers) describe(header);
  });
  return files;
}

formats::Layout ordinary_layout(formats::Header& header) {
  for (int id = 0; id < header.variable_count(); ++id) header.variable(id).begin = 0;
  return formats::compute_layout(header, {}, nullptr);
}

int header_tells(const std::string& path, int (*count)(const formats::Header&)) {
  try {
    const auto file = storage::PosixFileSystem().open(path, storage::OpenMode::read);
    return count(storage::read_header(*file).decoded.header);
  } catch (const Error&) {
    return 0;
  }
}

void remove_others(const std::vector<std::string>& paths) {
  storage::PosixFileSystem system;
  for (std::size_t i = 1; i < paths.size(); ++i) {
    if (system.exists(paths[i])) system.remove(paths[i]);
  }
}

}  // namespace sluice::api
