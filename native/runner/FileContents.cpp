// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/FileContents.h"

#include <filesystem>
#include <fstream>

namespace mlcb {

Expected<std::string> readFile(const std::string &Path) {
  std::error_code Why;
  if (std::filesystem::is_fifo(Path, Why)) // which would be waited for
    return fail(ErrorKind::InvalidArgument, Path + " is a FIFO, expected a file");
  std::ifstream File(Path, std::ios::binary);
  if (!File)
    return failErrno(Path);
  std::string Contents; // by read(): an iterator throws where the file cannot be read, as a folder cannot
  for (char Part[65536]; File.read(Part, sizeof Part) || File.gcount() > 0;)
    Contents.append(Part, static_cast<size_t>(File.gcount()));
  if (File.bad())
    return fail(ErrorKind::SystemError, Path + " cannot be read");
  return Contents;
}

} // namespace mlcb
