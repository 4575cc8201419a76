#include "trireme/archive/hdf5_file_image.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "archive/file_writing.hpp"
#include "archive/hdf5_advice.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/listing.hpp"

namespace trireme::archive::hdf5 {
namespace {

// Folders to try in this order. /tmp may be on disk.
constexpr std::array<const char*, 2> memory_folders{"/dev/shm", "/tmp"};

// False if the folder is nearly full. The files have the metadata of a checkpoint, but not its values.
bool has_space(const char* folder) {
    constexpr std::uintmax_t max_metadata_bytes = 64 << 20;
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(folder, error);
    return error || space.available >= max_metadata_bytes;
}

// A sparse temporary file in one of `memory_folders`. HDF5 can open it by its name until remove_name() is
// called. Without a name, the file vanishes when it is closed.
class MemoryFile {
public:
    MemoryFile() {
        for (const char* folder : memory_folders) {
            if (folder != memory_folders.back() && !has_space(folder)) continue;
            path_ = cat(folder, "/trireme-", make_random_digits());
            descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
            if (descriptor_ >= 0) return;
        }
        throw ResourceError(cat("cannot create a temporary file in /dev/shm or /tmp: ", std::strerror(errno),
                                "; free some space in /tmp, or raise the limit on open files (ulimit -n)"));
    }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    ~MemoryFile() {
        remove_name();
        ::close(descriptor_);
    }

    const std::string& path() const { return path_; }
    // Throws if a limit on file sizes forbids a file of `bytes`. Called before HDF5 writes, because a write
    // that fails would leave HDF5 with a half-written file.
    void check_size_limit(std::uint64_t bytes) const {
        if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) throw_write_error(path_, errno);
    }
    void remove_name() {
        if (!path_.empty()) ::unlink(path_.c_str());
        path_.clear();
    }

    // Returns all ranges of the file that are not holes.
    std::vector<Imprint::ByteRange> read_written_ranges() const {
        std::vector<Imprint::ByteRange> all;
        for (off_t end = 0;;) {
            const off_t begin = ::lseek(descriptor_, end, SEEK_DATA);
            if (begin < 0) return all;  // no data after `end`
            end = ::lseek(descriptor_, begin, SEEK_HOLE);
            all.push_back({static_cast<std::uint64_t>(begin), read(begin, end)});
        }
    }

private:
    std::string read(off_t begin, off_t end) const {
        std::string bytes(static_cast<std::size_t>(end - begin), '\0');
        const ssize_t count = ::pread(descriptor_, bytes.data(), bytes.size(), begin);
        if (count != static_cast<ssize_t>(bytes.size())) throw BugError("cannot read the whole temporary file");
        return bytes;
    }

    std::string path_;
    int descriptor_ = -1;
};

// Owns a file and abandons it unless it was closed: abandon() does nothing for a closed file.
struct AbandonUnlessClosed {
    Handle file;

    ~AbandonUnlessClosed() { abandon(file); }
};

}  // namespace

Imprint::Imprint(const std::function<void(Id file)>& fill, std::size_t datasets, std::uint64_t data_bytes) {
    MemoryFile memory;
    memory.check_size_limit(compute_metadata_bytes(std::max<std::size_t>(datasets, 1)) + data_bytes);
    AbandonUnlessClosed created{create_file(memory.path(), compute_metadata_bytes(datasets))};
    fill(created.file.get());
    memory.remove_name();
    size_ = flush(created.file);
    check_hdf5(created.file.close(), "cannot close the temporary file", check_space_advice);
    ranges_ = memory.read_written_ranges();
}

std::string Imprint::assemble_file() const {
    std::string all(size_, '\0');
    for (const ByteRange& range : ranges_) all.replace(range.offset, range.bytes.size(), range.bytes);
    return all;
}

}  // namespace trireme::archive::hdf5
