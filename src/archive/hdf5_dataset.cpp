#include "trireme/archive/hdf5_dataset.hpp"

#include <hdf5.h>

#include <algorithm>
#include <bit>

#include "archive/hdf5_advice.hpp"
#include "trireme/archive/hdf5_file.hpp"

namespace trireme::archive::hdf5 {
namespace {

static_assert(std::endian::native == std::endian::little, "checksums and files hold little-endian bytes");

constexpr std::string_view repair_advice = "copy the file again, or make it again with `trireme prepare`";

hid_t find_file_type(std::size_t element_bytes) {
    switch (element_bytes) {
        case 1:
            return H5T_STD_U8LE;
        case 2:
            return H5T_STD_U16LE;
        case 4:
            return H5T_STD_U32LE;
        case 8:
            return H5T_STD_U64LE;
        default:
            throw BugError(cat("cannot store a dataset of ", element_bytes, "-byte elements"));
    }
}

Handle create_dataset(hid_t file, const std::string& name, std::size_t element_bytes, hsize_t chunk) {
    const std::string what = cat("cannot create ", name);
    const hsize_t no_elements = 0;
    const hsize_t unlimited = H5S_UNLIMITED;
    const Handle space(check_hdf5(H5Screate_simple(1, &no_elements, &unlimited), what, check_space_advice),
                       H5Sclose);
    const Handle properties(check_hdf5(H5Pcreate(H5P_DATASET_CREATE), what, check_space_advice), H5Pclose);
    check_hdf5(H5Pset_chunk(properties.get(), 1, &chunk), what, check_space_advice);
    check_hdf5(H5Pset_fletcher32(properties.get()), what, check_space_advice);
    return Handle(check_hdf5(H5Dcreate2(file, name.c_str(), find_file_type(element_bytes), space.get(),
                                        H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                             what, check_space_advice),
                  H5Dclose);
}

}  // namespace

DatasetWriter::DatasetWriter(hid_t file, std::string name, std::size_t element_bytes,
                             std::size_t chunk_elements)
    : name_(std::move(name)),
      element_bytes_(element_bytes),
      chunk_bytes_(chunk_elements * element_bytes),
      dataset_(create_dataset(file, name_, element_bytes, chunk_elements)) {
    pending_bytes_.reserve(chunk_bytes_);
}

void DatasetWriter::append(std::span<const std::byte> elements) {
    hash_.update(elements);
    while (!elements.empty()) {
        const std::size_t count = std::min(elements.size(), chunk_bytes_ - pending_bytes_.size());
        pending_bytes_.insert(pending_bytes_.end(), elements.begin(),
                              elements.begin() + static_cast<std::ptrdiff_t>(count));
        elements = elements.subspan(count);
        if (pending_bytes_.size() == chunk_bytes_) write_pending();
    }
}

std::string DatasetWriter::finish() {
    if (!pending_bytes_.empty()) write_pending();
    std::string hash = hash_.hex();
    write_text(dataset_.get(), "sha256", hash);
    // The dataset is flushed before it is closed: if closing the dataset failed for lack of space, HDF5 could
    // not close the file either.
    check_hdf5(H5Dflush(dataset_.get()), cat("cannot write ", name_), check_space_advice);
    dataset_.close();
    return hash;
}

void DatasetWriter::write_pending() {
    const std::string what = cat("cannot write ", name_);
    const hsize_t first = written_elements_;
    const hsize_t count = pending_bytes_.size() / element_bytes_;
    const hsize_t extent = first + count;
    check_hdf5(H5Dset_extent(dataset_.get(), &extent), what, check_space_advice);
    const Handle space(check_hdf5(H5Dget_space(dataset_.get()), what, check_space_advice), H5Sclose);
    const Handle memory(check_hdf5(H5Screate_simple(1, &count, nullptr), what, check_space_advice), H5Sclose);
    check_hdf5(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &first, nullptr, &count, nullptr), what,
               check_space_advice);
    check_hdf5(H5Dwrite(dataset_.get(), find_file_type(element_bytes_), memory.get(), space.get(), H5P_DEFAULT,
                        pending_bytes_.data()),
               what, check_space_advice);
    written_elements_ += count;
    pending_bytes_.clear();
}

DatasetReader::DatasetReader(hid_t file, const std::filesystem::path& path, const std::string& name)
    : what_(cat(name, " of ", path.string())) {
    const std::string what = cat("cannot open ", what_);
    dataset_ = Handle(check_hdf5<ConfigError>(H5Dopen2(file, name.c_str(), H5P_DEFAULT), what, repair_advice),
                      H5Dclose);
    const Handle space(check_hdf5<ConfigError>(H5Dget_space(dataset_.get()), what, repair_advice), H5Sclose);
    const Handle type(check_hdf5<ConfigError>(H5Dget_type(dataset_.get()), what, repair_advice), H5Tclose);
    element_bytes_ = H5Tget_size(type.get());
    const bool is_unsigned = H5Tget_class(type.get()) == H5T_INTEGER &&
                             H5Tget_sign(type.get()) == H5T_SGN_NONE && std::has_single_bit(element_bytes_) &&
                             element_bytes_ <= 8;
    if (H5Sget_simple_extent_ndims(space.get()) != 1 || !is_unsigned)
        throw ConfigError(cat(what_, " is not a list of unsigned integers; ", repair_advice));
    size_ = static_cast<std::uint64_t>(
        check_hdf5<ConfigError>(H5Sget_simple_extent_npoints(space.get()), what, repair_advice));
    recorded_sha256_ = read_text(dataset_.get(), "sha256").value_or("");
}

void DatasetReader::read(std::uint64_t first, std::span<std::uint8_t> out) const {
    read_raw(H5T_NATIVE_UINT8, first, out.size(), out.data());
}
void DatasetReader::read(std::uint64_t first, std::span<std::uint32_t> out) const {
    read_raw(H5T_NATIVE_UINT32, first, out.size(), out.data());
}
void DatasetReader::read(std::uint64_t first, std::span<std::uint64_t> out) const {
    read_raw(H5T_NATIVE_UINT64, first, out.size(), out.data());
}

std::string DatasetReader::compute_sha256() const {
    constexpr std::uint64_t block_elements = 1 << 17;  // elements: eight chunks of the dataset /tokens
    std::vector<std::byte> bytes(std::min(block_elements, size_) * element_bytes_);
    Sha256 hash;
    for (std::uint64_t first = 0; first < size_; first += block_elements) {
        const std::uint64_t count = std::min(block_elements, size_ - first);
        read_raw(find_file_type(element_bytes_), first, count, bytes.data());
        hash.update(std::span(bytes).first(count * element_bytes_));
    }
    return hash.hex();
}

std::string DatasetReader::read_all_bytes() const {
    std::string all(size_ * element_bytes_, '\0');
    read_raw(find_file_type(element_bytes_), 0, size_, all.data());
    return all;
}

void DatasetReader::read_raw(hid_t memory_type, std::uint64_t first, std::uint64_t count, void* out) const {
    if (count == 0) return;
    const std::string what = cat(what_, " is damaged between elements ", first, " and ", first + count - 1);
    const hsize_t begin = first;
    const hsize_t length = count;
    const Handle space(check_hdf5<ConfigError>(H5Dget_space(dataset_.get()), what, repair_advice), H5Sclose);
    const Handle memory(check_hdf5<ConfigError>(H5Screate_simple(1, &length, nullptr), what, repair_advice),
                        H5Sclose);
    check_hdf5<ConfigError>(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &begin, nullptr, &length, nullptr),
                            what, repair_advice);
    check_hdf5<ConfigError>(H5Dread(dataset_.get(), memory_type, memory.get(), space.get(), H5P_DEFAULT, out),
                            what, repair_advice);
}

}  // namespace trireme::archive::hdf5
