#include "trireme/checkpoint/stored_model.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "checkpoint/model_files.hpp"
#include "checkpoint/names.hpp"
#include "trireme/archive/float_types.hpp"
#include "trireme/archive/shape_text.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/model/model.hpp"

namespace trireme {

struct StoredModel::Storage : ModelFiles {
    explicit Storage(ModelFiles opened) : ModelFiles(std::move(opened)) {
        std::sort(entries.begin(), entries.end(),
                  [](const TensorEntry& a, const TensorEntry& b) { return a.tensor.name < b.tensor.name; });
        for (const TensorEntry& entry : entries) by_name.emplace(entry.tensor.name, &entry);
    }

    // Null where it is not there.
    const TensorEntry* find(const ParameterSpec& spec) const {
        for (const std::string& name : stored_names_of(spec.name, config.tied)) {
            const auto at = by_name.find(name);
            if (at != by_name.end()) return at->second;
        }
        return nullptr;
    }

    const TensorEntry& find_checked(const ParameterSpec& spec) const;

    std::unordered_map<std::string, const TensorEntry*> by_name;
};

namespace {

constexpr std::size_t block_bytes = std::size_t{4} << 20;

void check_entry(const TensorEntry& entry, const ParameterSpec& spec, const std::string& file) {
    const StoredTensor& tensor = entry.tensor;
    const std::string what = cat(tensor.name, " of ", file);
    if (!std::equal(tensor.shape.begin(), tensor.shape.end(), spec.shape.begin(), spec.shape.end()))
        throw ConfigError(cat(what, " has the shape ", shape_text(tensor.shape), ", but the model's ",
                              spec.name, " has ", shape_text(spec.shape),
                              "; choose the model that it was saved from, or another file"));
    if (!is_float(tensor.type))
        throw ConfigError(cat(what, " is of type ", name_of(tensor.type),
                              "; weights are read from F64, F32, F16 and BF16: save it as one of them"));
}

// Calls `use(begin, bytes)` with all bytes of the tensor, a block at a time, and compares their checksum.
template <class Use>
void for_each_block(const ModelFiles& files, const TensorEntry& entry, Use&& use) {
    std::vector<std::byte> block(std::min<std::uint64_t>(block_bytes, entry.tensor.bytes()));
    Sha256 sum;
    for (std::uint64_t begin = 0; begin < entry.tensor.bytes(); begin += block.size()) {
        const auto bytes =
            std::span(block).first(std::min<std::uint64_t>(block.size(), entry.tensor.bytes() - begin));
        files.read(entry, begin, bytes);
        if (!entry.sha256.empty()) sum.update(bytes);
        use(begin, bytes);
    }
    if (entry.sha256.empty() || sum.hex() == entry.sha256) return;
    throw ConfigError(cat(files.files[entry.file].path, " is damaged: the SHA-256 of ", entry.tensor.name,
                          " is ", sum.hex(), ", recorded is ", entry.sha256,
                          "; copy the checkpoint again, or use another one"));
}

StoredType stored_type_of(DType dtype) {
    if (dtype == DType::f32) return StoredType::f32;
    if (dtype == DType::f64) return StoredType::f64;
    throw BugError(cat("weights were asked for as ", name_of(dtype)));
}

std::string first_names(const std::vector<std::string>& names) {
    constexpr std::size_t most = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i) text += cat(i == 0 ? "" : ", ", names[i]);
    return names.size() > most ? cat(text, " and ", names.size() - most, " more") : text;
}

// The tensors of a checkpoint are the parameters of its config.json; of a converted base model, without a head.
void check_own_tensors(const StoredModel& stored) {
    const LoadReport report = check_fit(stored, unique_parameters(build_layers(stored.config())));
    if (report.unused.empty()) return;
    throw ConfigError(cat(stored.place(), " holds ", report.unused.size(),
                          " tensors that its config.json has no ", "place for: ", first_names(report.unused),
                          "; copy the checkpoint again, or use ", "another one"));
}

}  // namespace

const TensorEntry& StoredModel::Storage::find_checked(const ParameterSpec& spec) const {
    const TensorEntry* entry = find(spec);
    if (entry == nullptr) throw BugError(cat(spec.name, " was asked of ", place, ", which has none"));
    check_entry(*entry, spec, files[entry->file].path);
    return *entry;
}

StoredModel StoredModel::open(const std::filesystem::path& path) {
    const ModelPlace place = find_model(path);
    StoredModel stored(std::make_unique<Storage>(place.is_checkpoint ? open_checkpoint(place.path)
                                                                     : open_huggingface(place.path)));
    if (stored.is_checkpoint()) check_own_tensors(stored);
    return stored;
}

StoredModel::StoredModel(std::unique_ptr<Storage> storage) : storage_(std::move(storage)) {}
StoredModel::StoredModel(StoredModel&&) noexcept = default;
StoredModel& StoredModel::operator=(StoredModel&&) noexcept = default;
StoredModel::~StoredModel() = default;

const std::string& StoredModel::place() const { return storage_->place; }
bool StoredModel::is_checkpoint() const { return storage_->is_checkpoint; }
const ModelConfig& StoredModel::config() const { return storage_->config; }
const std::string& StoredModel::config_text() const { return storage_->config_text; }
std::uint64_t StoredModel::step() const { return storage_->step; }
const std::string& StoredModel::tokenizer() const { return storage_->tokenizer; }

bool StoredModel::has(const ParameterSpec& spec) const {
    const TensorEntry* entry = storage_->find(spec);
    if (entry != nullptr) check_entry(*entry, spec, storage_->files[entry->file].path);
    return entry != nullptr;
}

StoredType StoredModel::type_of(const ParameterSpec& spec) const { return storage_->find_checked(spec).source; }

void StoredModel::read(const ParameterSpec& spec, Tensor values) const {
    if (!values.is_contiguous()) throw BugError(cat(spec.name, " was to be read into rows with gaps"));
    read(spec, stored_type_of(values.dtype), {static_cast<std::byte*>(values.data), values.bytes()});
}

void StoredModel::read(const ParameterSpec& spec, StoredType type, std::span<std::byte> bytes) const {
    const TensorEntry& entry = storage_->find_checked(spec);
    const std::size_t from_bytes = bytes_of(entry.tensor.type);
    const std::size_t to_bytes = bytes_of(type);
    if (bytes.size() != spec.size() * to_bytes)
        throw BugError(cat(spec.name, " was to be read into ", bytes.size(), " bytes"));
    for_each_block(*storage_, entry, [&](std::uint64_t begin, std::span<const std::byte> block) {
        const auto out = bytes.subspan(begin / from_bytes * to_bytes, block.size() / from_bytes * to_bytes);
        convert_floats(entry.tensor.type, block, type, out);
    });
}

std::vector<StoredTensor> StoredModel::tensors() const {
    std::vector<StoredTensor> all;
    for (const TensorEntry& entry : storage_->entries) {
        all.push_back(entry.tensor);
        all.back().type = entry.source;
    }
    return all;
}

void StoredModel::verify() const {
    if (is_checkpoint()) verify_model_file(place());
    for (const TensorEntry& entry : storage_->entries)
        for_each_block(*storage_, entry, [](std::uint64_t, std::span<const std::byte>) {});
}

std::vector<std::string> StoredModel::unused(const std::vector<ParameterSpec>& specs) const {
    std::unordered_set<const TensorEntry*> used;
    for (const ParameterSpec& spec : specs) used.insert(storage_->find(spec));
    std::vector<std::string> names;
    for (const TensorEntry& entry : storage_->entries) {
        if (!used.contains(&entry) && !holds_nothing_new(entry.tensor.name, storage_->config.tied))
            names.push_back(entry.tensor.name);
    }
    return names;
}

LoadReport check_fit(const StoredModel& stored, const std::vector<ParameterSpec>& specs) {
    LoadReport report;
    std::vector<std::string> needed;
    for (const ParameterSpec& spec : specs)
        if (!stored.has(spec)) (spec.is_of_head ? report.missing : needed).push_back(spec.name);
    if (!needed.empty())
        throw ConfigError(cat(stored.place(), " lacks ", needed.size(), " of the model's ", specs.size(),
                              " parameters: ", first_names(needed),
                              "; choose the model that it was saved from, or another file"));
    report.unused = stored.unused(specs);
    return report;
}

namespace {

// A rank's part of a tensor comes through a buffer of the whole one, whose checksum is of all its bytes.
void read_part(const StoredModel& stored, const ParameterSpec& spec, Tensor values) {
    if (spec.is_whole()) return stored.read(spec, values);
    ParameterSpec all = spec;
    all.rows = spec.all_rows;
    all.columns = spec.all_columns;
    const Buffer buffer(all.size() * bytes_of(values.dtype), Place::memory);
    const Tensor whole{buffer.data(), values.dtype, all.rows, all.columns, all.columns};
    stored.read(all, whole);
    for (const Placement& placement : spec.placements) {
        const auto [rows, columns] = placement.box;
        for (std::size_t r = 0; r < rows.count; ++r) {
            const Tensor from = whole.row_range(rows.begin + r, 1).column_range(columns.begin, columns.count);
            const Tensor to =
                values.row_range(placement.row + r, 1).column_range(placement.column, columns.count);
            std::memcpy(to.data, from.data, from.bytes());
        }
    }
}

}  // namespace

LoadReport load(const StoredModel& stored, const std::vector<ParameterSpec>& specs,
                const ParameterTensors& values) {
    LoadReport report = check_fit(stored, specs);
    for (std::size_t i = 0; i < specs.size(); ++i)
        if (stored.has(specs[i])) read_part(stored, specs[i], values[i]);
    return report;
}

}  // namespace trireme
