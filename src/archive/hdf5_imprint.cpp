#include "trireme/archive/hdf5_imprint.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "archive/file_writing.hpp"
#include "archive/free_space.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/listing.hpp"

namespace trireme::archive::hdf5 {
namespace {

constexpr std::array<const char*, 2> folders_of_memory{"/dev/shm", "/tmp"};

// A sparse file that HDF5 can open by its name until hide() is called. It has no name afterwards and vanishes
// when it is closed.
class MemoryFile {
public:
    MemoryFile() {
        for (const char* folder : folders_of_memory) {
            path_ = cat(folder, "/trireme-", random_digits());
            descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
            if (descriptor_ >= 0) return;
        }
        throw ResourceError(cat(path_, " cannot be made: ", std::strerror(errno),
                                "; free some space there, or raise the limit of open files (ulimit -n)"));
    }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    ~MemoryFile() {
        hide();
        ::close(descriptor_);
    }

    const std::string& path() const { return path_; }
    // Detects a limit on file sizes before HDF5 meets it, which would leave HDF5 with a half-written file.
    void refuse_unless_allowed(std::uint64_t bytes) const {
        if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) refuse_to_write(path_, errno);
    }
    void hide() {
        if (!path_.empty()) ::unlink(path_.c_str());
        path_.clear();
    }

    std::vector<Imprint::Stretch> written() const {
        std::vector<Imprint::Stretch> all;
        for (off_t end = 0;;) {
            const off_t begin = ::lseek(descriptor_, end, SEEK_DATA);
            if (begin < 0) return all;  // only a hole is left
            end = ::lseek(descriptor_, begin, SEEK_HOLE);
            all.push_back({static_cast<std::uint64_t>(begin), read(begin, end)});
        }
    }

private:
    std::string read(off_t begin, off_t end) const {
        std::string bytes(static_cast<std::size_t>(end - begin), '\0');
        const ssize_t count = ::pread(descriptor_, bytes.data(), bytes.size(), begin);
        if (count != static_cast<ssize_t>(bytes.size())) throw BugError("a file in memory was not read");
        return bytes;
    }

    std::string path_;
    int descriptor_ = -1;
};

// Abandons the file unless it was closed as a whole.
struct Kept {
    Handle file;

    ~Kept() { abandon(file); }
};

}  // namespace

Imprint::Imprint(const std::function<void(Id file)>& fill, std::size_t datasets, std::uint64_t data_bytes) {
    MemoryFile memory;
    memory.refuse_unless_allowed(metadata_bytes_of(std::max<std::size_t>(datasets, 1)) + data_bytes);
    Kept kept{create_file(memory.path(), metadata_bytes_of(datasets))};
    fill(kept.file.get());
    memory.hide();
    size_ = flush(kept.file);
    check_hdf5(kept.file.close(), "cannot close a file in memory", free_space);
    stretches_ = memory.written();
}

std::string Imprint::bytes() const {
    std::string all(size_, '\0');
    for (const Stretch& stretch : stretches_) all.replace(stretch.offset, stretch.bytes.size(), stretch.bytes);
    return all;
}

}  // namespace trireme::archive::hdf5
