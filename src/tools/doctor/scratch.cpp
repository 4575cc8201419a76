#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "tools/doctor/probes.hpp"
#include "trireme/archive/hdf5_dataset.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/partial_file.hpp"
#include "trireme/archive/positioned_file.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::tools::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t block_bytes = 1'000'000;

// Returns the contents of block `index`. No two blocks are equal.
std::vector<std::byte> make_block(std::uint64_t index) {
    std::vector<std::uint64_t> numbers(block_bytes / sizeof(std::uint64_t));
    // Different numbers below 2^64 have different products with an odd constant, modulo 2^64. The products with
    // this constant look random, so a file system cannot compress them.
    constexpr std::uint64_t odd_constant = 0x9e3779b97f4a7c15;
    std::uint64_t next_number = index * numbers.size();
    std::ranges::generate(numbers, [&] { return ++next_number * odd_constant; });
    std::vector<std::byte> bytes(block_bytes);
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes;
}

// Writes `blocks` blocks to an existing file, syncs it to the disk, and returns the seconds that writing and
// syncing took. The time for generating the blocks does not count.
double write_blocks(const fs::path& path, std::size_t blocks) {
    const archive::WritableFile file(path);
    file.reserve(blocks * block_bytes);
    double seconds = 0;
    for (std::size_t index = 0; index < blocks; ++index) {
        const std::vector<std::byte> block = make_block(index);
        const double begin_seconds = device::now_seconds();
        file.write(index * block_bytes, block);
        if (index + 1 == blocks) file.sync();
        seconds += device::now_seconds() - begin_seconds;
    }
    return seconds;
}

// Drops the file from the page cache, so that reading measures the disk. The operating system may ignore the
// request.
void drop_from_page_cache(const fs::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    ::close(descriptor);
}

// Returns the seconds that reading the blocks took. Throws ResourceError if a block differs from the written
// one.
double read_blocks(const fs::path& path, std::size_t blocks) {
    const archive::PositionedFile file(path);
    file.advise_sequential();
    std::vector<std::byte> block(block_bytes);
    double seconds = 0;
    for (std::size_t index = 0; index < blocks; ++index) {
        const double begin_seconds = device::now_seconds();
        file.read(index * block_bytes, block);
        seconds += device::now_seconds() - begin_seconds;
        if (block != make_block(index))
            throw ResourceError(cat("megabyte ", index + 1, " of ", blocks,
                                    " read back differs from what was written; check the health of the disk"));
    }
    return seconds;
}

// Sets both speeds in `facts`. Throws an Error if the test fails.
void measure_speed(const fs::path& folder, std::size_t megabytes, ScratchFacts& facts) {
    const auto bytes = static_cast<double>(megabytes * block_bytes);
    const archive::PartialFile file(folder / "trireme-doctor");  // removed at the end of this function
    const double write_seconds = write_blocks(file.partial_path(), megabytes);
    drop_from_page_cache(file.partial_path());
    const double read_seconds = read_blocks(file.partial_path(), megabytes);
    facts.written_bytes_per_s = bytes / write_seconds;
    facts.read_bytes_per_s = bytes / read_seconds;
}

// Writes an HDF5 file with one array, and returns the SHA-256 of the array.
std::string write_hdf5_array(const fs::path& path) {
    constexpr std::size_t chunk_elements = 1024;
    std::vector<std::uint32_t> numbers(10 * chunk_elements);
    std::iota(numbers.begin(), numbers.end(), 0U);
    const archive::hdf5::Handle file = archive::hdf5::create_file(path);
    try {
        archive::hdf5::DatasetWriter writer(file.get(), "/numbers", sizeof(std::uint32_t), chunk_elements);
        writer.append(std::as_bytes(std::span(numbers)));
        std::string sha256 = writer.finish();
        archive::hdf5::flush(file);
        return sha256;
    } catch (...) {
        archive::hdf5::abandon(file);
        throw;
    }
}

// Writes and reads an HDF5 file. Throws an Error if HDF5 fails, or if the array has changed.
void test_hdf5(const fs::path& folder) {
    const archive::PartialFile file(folder / "trireme-doctor.h5");
    const std::string written_sha256 = write_hdf5_array(file.partial_path());
    const archive::hdf5::Handle reopened_file = archive::hdf5::open_read_only(file.partial_path());
    const std::string read_sha256 =
        archive::hdf5::DatasetReader(reopened_file.get(), file.partial_path(), "/numbers").compute_sha256();
    if (read_sha256 != written_sha256)
        throw ResourceError(cat("an array was written with SHA-256 ", written_sha256, " but read back with ",
                                read_sha256, "; check the health of the disk"));
}

}  // namespace

ScratchFacts measure_scratch(const fs::path& folder, std::size_t megabytes) {
    ScratchFacts facts;
    std::error_code error_code;
    if (!fs::is_directory(folder, error_code)) {
        facts.failure = cat("--scratch ", folder.string(), " is no folder; create it (mkdir -p ",
                            folder.string(), ") or name another folder");
        return facts;
    }
    const fs::space_info space = fs::space(folder, error_code);
    if (!error_code) facts.free_bytes = static_cast<double>(space.available);
    try {
        measure_speed(folder, megabytes, facts);
    } catch (const Error& error) {
        facts.failure = error.what();
        return facts;
    }
    try {
        test_hdf5(folder);
    } catch (const Error& error) {
        facts.hdf5_failure = error.what();
    }
    return facts;
}

}  // namespace trireme::tools::doctor
