#include "trireme/archive/hdf5_reserved_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "archive/partial_path.hpp"
#include "archive/write_fault.hpp"
#include "trireme/archive/hdf5_file.hpp"

namespace trireme::hdf5 {
namespace {

constexpr std::uint64_t file_overhead = 64 << 10;  // bytes
constexpr std::uint64_t dataset_overhead =
    4 << 10;                                     // of its header, its attributes, its link; a virtual one's map
constexpr std::uint64_t reserve_step = 1 << 20;  // bytes

}  // namespace

ReservedFile::ReservedFile(std::filesystem::path path)
    : path_(std::move(path)), file_(create_file(path_)), wanted_(file_overhead) {}

ReservedFile::ReservedFile(std::filesystem::path path, std::size_t datasets)
    : path_(std::move(path)), file_(create_file(path_, file_overhead + datasets * dataset_overhead)) {
    take(file_overhead + datasets * dataset_overhead);
}

ReservedFile::~ReservedFile() { abandon(file_); }

void ReservedFile::reserve(std::uint64_t bytes) {
    wanted_ += bytes + dataset_overhead;
    if (wanted_ > reserved_) take(wanted_ + reserve_step);
}

void ReservedFile::take(std::uint64_t end) {
    const int descriptor = ::open(path_.c_str(), O_RDWR);  // where it is emulated, it also reads
    if (descriptor < 0) refuse_to_write(path_, errno);
    const int code =
        ::posix_fallocate(descriptor, static_cast<off_t>(reserved_), static_cast<off_t>(end - reserved_));
    ::close(descriptor);
    // A file system that cannot say so may have the space all the same.
    if (code != 0 && code != EOPNOTSUPP && code != EINVAL) refuse_to_write(path_, code);
    reserved_ = end;
}

std::uint64_t ReservedFile::close() {
    const std::uint64_t size = flush(file_);
    if (file_.close() < 0)
        throw ResourceError(cat(whole_path(path_).string(), " could not be closed: HDF5 says \"", reason(),
                                "\"; check the free space and health of its disk"));
    if (::truncate(path_.c_str(), static_cast<off_t>(size)) != 0) refuse_to_write(path_, errno);
    return size;
}

}  // namespace trireme::hdf5
