#include "trireme/checkpoint/resizing_file.hpp"

#include <span>

#include "checkpoint/model_files.hpp"
#include "checkpoint/schema.hpp"
#include "trireme/archive/hdf5_array.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/hdf5_reserved_file.hpp"
#include "trireme/archive/listing.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/device/buffer.hpp"

namespace trireme::checkpoint {
namespace fs = std::filesystem;
using namespace checkpoint_schema;

namespace {

constexpr const char* kind = "trireme-resizing";
constexpr std::uint64_t kind_version = 1;
constexpr const char* period_count = "period";
constexpr const char* rows_list = "last_rows";
constexpr const char* memory_count = "memory";
constexpr const char* sum_of_all = "sha256";

std::string memory_name(std::size_t number) { return cat("/memory/", number); }

// A dataset of the file and the memory of its elements.
struct NamedNumbers {
    std::string name;
    archive::StoredType type = archive::StoredType::u8;
    std::span<std::byte> bytes;

    std::uint64_t count() const { return bytes.size() / bytes_of(type); }
};

// HDF5 has no bf16, so that each bf16 number is stored as two bytes.
archive::StoredType type_of(const device::Tensor& tensor) {
    if (tensor.dtype == device::DType::bf16) return archive::StoredType::u8;
    return tensor.dtype == device::DType::f64 ? archive::StoredType::f64 : archive::StoredType::f32;
}

// A state whose tensors are all in host memory; those of the GPU are copied.
class HostState {
public:
    explicit HostState(const model::ResizingState& state) : own_(state), copies_(state.memory.size()) {
        for (std::size_t m = 0; m < copies_.size(); ++m) {
            device::Tensor& tensor = own_.memory[m];
            if (tensor.place != device::MemorySpace::gpu) continue;
            copies_[m].resize(tensor.bytes());
            tensor = {copies_[m].data(), tensor.dtype, tensor.rows, tensor.columns, tensor.columns};
            copy_rows(state.memory[m], tensor);
        }
    }

    model::ResizingState& get() { return own_; }

    // Moves what was read to `state`; copies tensors of the GPU back to it.
    void give_to(model::ResizingState& state) {
        for (std::size_t m = 0; m < copies_.size(); ++m)
            if (!copies_[m].empty()) copy_rows(own_.memory[m], state.memory[m]);
        own_.memory = std::move(state.memory);
        state = std::move(own_);
    }

private:
    model::ResizingState own_;
    std::vector<std::vector<std::byte>> copies_;
};

std::vector<NamedNumbers> numbers_of(model::ResizingState& state) {
    std::vector<NamedNumbers> all{
        {"/variation", archive::StoredType::f64, std::as_writable_bytes(std::span(state.variation))},
        {"/kept", archive::StoredType::u8, std::as_writable_bytes(std::span(state.kept))}};
    for (std::size_t m = 0; m < state.memory.size(); ++m) {
        const device::Tensor& tensor = state.memory[m];
        all.push_back(
            {memory_name(m), type_of(tensor), {static_cast<std::byte*>(tensor.data), tensor.bytes()}});
    }
    return all;
}

std::string sum_of(const std::vector<NamedNumbers>& all) {
    Sha256 sum;
    for (const NamedNumbers& numbers : all) sum.update(numbers.bytes);
    return sum.hex();
}

class ResizingReader {
public:
    explicit ResizingReader(const fs::path& path)
        : path_(path), file_(archive::hdf5::open_read_only(path, copy_again)), bytes_(path) {}

    void read(const std::string& save, int rank, model::ResizingState& state) const {
        check_kind(save, static_cast<std::uint64_t>(rank));
        const std::vector<std::uint64_t> rows = archive::hdf5::read_numbers(id(), rows_list);
        if (rows.size() != state.last_rows.size()) refuse("is of a run that remembered something else");
        const std::vector<NamedNumbers> all = numbers_of(state);
        for (const NamedNumbers& numbers : all) read(numbers);
        check_sum(sum_of(all));
        state.period = number(period_count);
        state.last_rows = rows;
    }

    // Checks the arrays that the file says it has; their types and lengths are arbitrary.
    void verify(const std::string& save) const {
        check_kind(save, number("rank"));
        std::vector<std::string> names{"/variation", "/kept"};
        for (std::uint64_t m = 0; m < number(memory_count); ++m) names.push_back(memory_name(m));
        Sha256 sum;
        for (const std::string& name : names) {
            const archive::hdf5::Array array = archive::hdf5::open_array(id(), path_, name, copy_again);
            if (array.bytes() > bytes_.size()) refuse(cat("is damaged: it is too short for ", name));
            std::vector<std::byte> bytes(array.bytes());
            bytes_.read(array.offset, bytes);
            sum.update(bytes);
        }
        check_sum(sum.hex());
    }

private:
    archive::hdf5::Id id() const { return file_.get(); }

    std::uint64_t number(const char* name) const {
        const auto value = archive::hdf5::read_number(id(), name);
        if (!value) refuse(cat("is damaged: its attribute '", name, "' is missing"));
        return *value;
    }

    void check_kind(const std::string& save, std::uint64_t rank) const {
        if (archive::hdf5::read_text(id(), "format") != kind || number("schema_version") != kind_version)
            refuse("is no such file as this program writes");
        if (archive::hdf5::read_text(id(), save_name) != save || number("rank") != rank)
            refuse("is of another save or rank than its name says");
    }

    void check_sum(const std::string& found) const {
        if (archive::hdf5::read_text(id(), sum_of_all) != found)
            refuse("is damaged: what it holds does not fit its SHA-256");
    }

    void read(const NamedNumbers& numbers) const {
        const archive::hdf5::Array array = archive::hdf5::open_array(id(), path_, numbers.name, copy_again);
        if (array.type != numbers.type || array.bytes() != numbers.bytes.size())
            refuse(cat("is of a run that remembered something else: ", numbers.name, " has ", array.bytes(),
                       " bytes, not ", numbers.bytes.size()));
        bytes_.read(array.offset, numbers.bytes);
    }

    [[noreturn]] void refuse(const std::string& fault) const {
        throw ConfigError(cat(path_.string(), ' ', fault, "; ", copy_again));
    }

    fs::path path_;
    archive::hdf5::Handle file_;
    archive::PositionedFile bytes_;
};

}  // namespace

archive::WritableFile write_resizing(const fs::path& folder, const std::string& save, int rank,
                                     const model::ResizingState& state) {
    HostState written(state);  // everything but `memory` is small
    const std::vector<NamedNumbers> all = numbers_of(written.get());
    std::vector<std::uint64_t> offsets;
    std::uint64_t bytes = 0;
    for (const NamedNumbers& numbers : all) bytes += numbers.bytes.size();
    const auto fill = [&](archive::hdf5::Id file) {
        archive::hdf5::write_text(file, "format", kind);
        archive::hdf5::write_number(file, "schema_version", kind_version);
        archive::hdf5::write_text(file, save_name, save);
        archive::hdf5::write_number(file, "rank", static_cast<std::uint64_t>(rank));
        archive::hdf5::write_number(file, period_count, state.period);
        archive::hdf5::write_number(file, memory_count, state.memory.size());
        if (!state.last_rows.empty()) archive::hdf5::write_numbers(file, rows_list, state.last_rows);
        archive::hdf5::write_text(file, sum_of_all, sum_of(all));
        for (const NamedNumbers& numbers : all)
            offsets.push_back(
                archive::hdf5::create_array(file, numbers.name, numbers.type, {numbers.count()}).offset);
    };
    const archive::hdf5::Imprint imprint(fill, all.size(), bytes);
    const fs::path path = folder / resizing_file(save, rank);
    archive::hdf5::ReservedFile(path, imprint).close();
    archive::WritableFile file(path);
    file.reserve(imprint.size());
    for (std::size_t n = 0; n < all.size(); ++n) file.write(offsets[n], all[n].bytes);
    return file;
}

void read_resizing(const fs::path& folder, const std::string& save, int rank, model::ResizingState& state) {
    HostState read(state);
    ResizingReader(folder / resizing_file(save, rank)).read(save, rank, read.get());
    read.give_to(state);
}

void verify_resizing_files(const fs::path& folder, const std::string& save) {
    for (const std::string& name : archive::names_in(folder))
        if (name.starts_with(resizing_prefix)) ResizingReader(folder / name).verify(save);
}

}  // namespace trireme::checkpoint
