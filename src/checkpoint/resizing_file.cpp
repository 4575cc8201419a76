#include "trireme/checkpoint/resizing_file.hpp"

#include <span>

#include "checkpoint/model_files.hpp"
#include "checkpoint/schema.hpp"
#include "trireme/archive/hdf5_array.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/hdf5_reserved_file.hpp"
#include "trireme/archive/listing.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/device/buffer.hpp"

namespace trireme::checkpoint {
namespace fs = std::filesystem;
using namespace checkpoint_schema;

namespace {

constexpr const char* file_format = "trireme-resizing";
constexpr std::uint64_t file_version = 1;
constexpr const char* period_attribute = "period";
constexpr const char* last_rows_attribute = "last_rows";
constexpr const char* memory_attribute = "memory";  // number of tensors in ResizingState::memory
constexpr const char* checksum_attribute = "sha256";

std::string make_memory_name(std::size_t number) { return cat("/memory/", number); }

// A dataset of the file, and the memory with its elements.
struct NamedArray {
    std::string name;
    archive::StoredType type = archive::StoredType::u8;
    std::span<std::byte> bytes;

    std::uint64_t count() const { return bytes.size() / byte_size(type); }
};

// Returns the type of a tensor in the file. HDF5 has no bf16, so each bf16 value is stored as two bytes.
archive::StoredType find_stored_type(const device::Tensor& tensor) {
    if (tensor.dtype == device::DType::bf16) return archive::StoredType::u8;
    return tensor.dtype == device::DType::f64 ? archive::StoredType::f64 : archive::StoredType::f32;
}

// A copy of a state, with all tensors in host memory: a tensor in GPU memory is replaced by a copy of its
// contents.
class HostState {
public:
    explicit HostState(const model::ResizingState& state) : state_(state), copies_(state.memory.size()) {
        for (std::size_t m = 0; m < copies_.size(); ++m) {
            device::Tensor& tensor = state_.memory[m];
            if (tensor.memory_space != device::MemorySpace::gpu) continue;
            copies_[m].resize(tensor.bytes());
            tensor = {copies_[m].data(), tensor.dtype, tensor.rows, tensor.columns, tensor.columns};
            copy_rows(state.memory[m], tensor);
        }
    }

    model::ResizingState& get() { return state_; }

    // Moves this state into `state`, which must be the state that the constructor copied. The tensors of
    // `state` keep their addresses: the host copies of tensors in GPU memory are copied back to the GPU.
    void move_to(model::ResizingState& state) {
        for (std::size_t m = 0; m < copies_.size(); ++m)
            if (!copies_[m].empty()) copy_rows(state_.memory[m], state.memory[m]);
        state_.memory = std::move(state.memory);
        state = std::move(state_);
    }

private:
    model::ResizingState state_;
    std::vector<std::vector<std::byte>> copies_;
};

std::vector<NamedArray> list_arrays(model::ResizingState& state) {
    std::vector<NamedArray> all{
        {"/variation", archive::StoredType::f64, std::as_writable_bytes(std::span(state.variation))},
        {"/kept", archive::StoredType::u8, std::as_writable_bytes(std::span(state.kept))}};
    for (std::size_t m = 0; m < state.memory.size(); ++m) {
        const device::Tensor& tensor = state.memory[m];
        all.push_back({make_memory_name(m),
                       find_stored_type(tensor),
                       {static_cast<std::byte*>(tensor.data), tensor.bytes()}});
    }
    return all;
}

std::string compute_checksum(const std::vector<NamedArray>& all) {
    Sha256 hash;
    for (const NamedArray& array : all) hash.update(array.bytes);
    return hash.hex();
}

class ResizingReader {
public:
    explicit ResizingReader(const fs::path& path)
        : path_(path), file_(archive::hdf5::open_read_only(path, repair_hint)), bytes_(path) {}

    void read(const std::string& save_id, int rank, model::ResizingState& state) const {
        check_identity(save_id, static_cast<std::uint64_t>(rank));
        const std::vector<std::uint64_t> rows = archive::hdf5::read_numbers(id(), last_rows_attribute);
        if (rows.size() != state.last_rows.size())
            refuse(cat("does not match the resizing of this run: its attribute '", last_rows_attribute,
                       "' has ", format_count(rows.size(), "number"), ", not ", state.last_rows.size()));
        const std::vector<NamedArray> all = list_arrays(state);
        for (const NamedArray& array : all) read_array(array);
        check_checksum(compute_checksum(all));
        state.period = read_number(period_attribute);
        state.last_rows = rows;
    }

    // Compares the checksum of the arrays. Unlike read(), accepts any types and lengths of the arrays.
    void verify(const std::string& save_id) const {
        check_identity(save_id, read_number("rank"));
        std::vector<std::string> names{"/variation", "/kept"};
        for (std::uint64_t m = 0; m < read_number(memory_attribute); ++m) names.push_back(make_memory_name(m));
        Sha256 hash;
        for (const std::string& name : names) {
            const archive::hdf5::Array array = archive::hdf5::open_array(id(), path_, name, repair_hint);
            if (array.count_bytes() > bytes_.size()) refuse(cat("is damaged: it is too short for ", name));
            std::vector<std::byte> bytes(array.count_bytes());
            bytes_.read(array.offset, bytes);
            hash.update(bytes);
        }
        check_checksum(hash.hex());
    }

private:
    archive::hdf5::Id id() const { return file_.get(); }

    std::uint64_t read_number(const char* name) const {
        const auto value = archive::hdf5::read_number(id(), name);
        if (!value) refuse(cat("is damaged: its attribute '", name, "' is missing"));
        return *value;
    }

    void check_identity(const std::string& save_id, std::uint64_t rank) const {
        if (archive::hdf5::read_text(id(), "format") != file_format ||
            read_number("schema_version") != file_version)
            refuse("is not a file of resizing state that this program can read");
        if (archive::hdf5::read_text(id(), save_attribute) != save_id || read_number("rank") != rank)
            refuse("is from another save or rank than its name says");
    }

    void check_checksum(const std::string& found) const {
        if (archive::hdf5::read_text(id(), checksum_attribute) != found)
            refuse("is damaged: its contents do not match its SHA-256");
    }

    void read_array(const NamedArray& destination) const {
        const archive::hdf5::Array array =
            archive::hdf5::open_array(id(), path_, destination.name, repair_hint);
        if (array.type != destination.type || array.count_bytes() != destination.bytes.size())
            refuse(cat("does not match the resizing of this run: ", destination.name, " has ",
                       array.count_bytes(), " bytes, not ", destination.bytes.size()));
        bytes_.read(array.offset, destination.bytes);
    }

    [[noreturn]] void refuse(const std::string& fault) const {
        throw ConfigError(cat(path_.string(), ' ', fault, "; ", repair_hint));
    }

    fs::path path_;
    archive::hdf5::Handle file_;
    archive::PositionedFile bytes_;  // the same file, for elements
};

}  // namespace

archive::WritableFile write_resizing(const fs::path& folder, const std::string& save_id, int rank,
                                     const model::ResizingState& state) {
    HostState host_state(state);  // copies the elements only of tensors in GPU memory
    const std::vector<NamedArray> all = list_arrays(host_state.get());
    std::vector<std::uint64_t> offsets;
    std::uint64_t bytes = 0;
    for (const NamedArray& array : all) bytes += array.bytes.size();
    const auto fill = [&](archive::hdf5::Id file) {
        archive::hdf5::write_text(file, "format", file_format);
        archive::hdf5::write_number(file, "schema_version", file_version);
        archive::hdf5::write_text(file, save_attribute, save_id);
        archive::hdf5::write_number(file, "rank", static_cast<std::uint64_t>(rank));
        archive::hdf5::write_number(file, period_attribute, state.period);
        archive::hdf5::write_number(file, memory_attribute, state.memory.size());
        if (!state.last_rows.empty()) archive::hdf5::write_numbers(file, last_rows_attribute, state.last_rows);
        archive::hdf5::write_text(file, checksum_attribute, compute_checksum(all));
        for (const NamedArray& array : all)
            offsets.push_back(
                archive::hdf5::create_array(file, array.name, array.type, {array.count()}).offset);
    };
    const archive::hdf5::Imprint imprint(fill, all.size(), bytes);
    const fs::path path = folder / make_resizing_file_name(save_id, rank);
    archive::hdf5::ReservedFile(path, imprint).close();
    archive::WritableFile file(path);
    file.reserve(imprint.size());
    for (std::size_t n = 0; n < all.size(); ++n) file.write(offsets[n], all[n].bytes);
    return file;
}

void read_resizing(const fs::path& folder, const std::string& save_id, int rank, model::ResizingState& state) {
    HostState host_state(state);
    ResizingReader(folder / make_resizing_file_name(save_id, rank)).read(save_id, rank, host_state.get());
    host_state.move_to(state);
}

void verify_resizing_files(const fs::path& folder, const std::string& save_id) {
    for (const std::string& name : archive::list_names(folder))
        if (name.starts_with(resizing_prefix)) ResizingReader(folder / name).verify(save_id);
}

}  // namespace trireme::checkpoint
