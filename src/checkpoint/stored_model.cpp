#include "trireme/checkpoint/stored_model.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "checkpoint/model_files.hpp"
#include "checkpoint/stored_names.hpp"
#include "trireme/archive/float_types.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/model/model.hpp"

namespace trireme::checkpoint {

struct StoredModel::Storage : ModelFiles {
    explicit Storage(ModelFiles opened) : ModelFiles(std::move(opened)) {
        std::sort(entries.begin(), entries.end(),
                  [](const TensorEntry& a, const TensorEntry& b) { return a.name < b.name; });
        for (const TensorEntry& entry : entries) by_name.emplace(entry.name, &entry);
    }

    // Returns null if the parameter is not stored.
    const TensorEntry* find(const model::ParameterSpec& spec) const {
        for (const std::string& name : list_stored_names(spec.name, config.tied)) {
            const auto at = by_name.find(name);
            if (at != by_name.end()) return at->second;
        }
        return nullptr;
    }

    const TensorEntry& find_checked(const model::ParameterSpec& spec) const;

    // Returns the path to show in messages about a tensor: the path of its file, or of the whole checkpoint.
    const std::string& find_file_path(const TensorEntry& entry) const {
        return checkpoint ? path : file_paths[entry.file_index];
    }
    // Returns the tensor with exactly this name, which must exist.
    const TensorEntry& find_by_name(const std::string& name) const {
        const auto at = by_name.find(name);
        if (at == by_name.end())
            throw BugError(
                cat("the parameter ", name, " was requested from ", path, ", which does not store it"));
        return *at->second;
    }

    // Returns a function that converts rows of `box`, writes them to `to`, and reports the progress. `to` has
    // the shape of `box`, and `type` is the stored type.
    UseRows make_row_writer(const device::Tensor& to, const layout::Box& box, archive::StoredType type) const;
    void report_progress(const StoredRows& rows, archive::StoredType type) const {
        if (progress != nullptr) progress->add(rows.box.size() * byte_size(type));
    }

    std::unordered_map<std::string, const TensorEntry*> by_name;
    ReadProgress* progress = nullptr;  // null if no progress is shown
};

namespace {

void check_entry(const TensorEntry& entry, const model::ParameterSpec& spec, const std::string& path) {
    const std::string description = cat(entry.name, " of ", path);
    if (!std::equal(entry.shape.begin(), entry.shape.end(), spec.shape.begin(), spec.shape.end()))
        throw ConfigError(cat(description, " has the shape ", archive::format_shape(entry.shape),
                              ", but the model's ", spec.name, " has ", archive::format_shape(spec.shape),
                              "; choose the model that it was saved from, or another file"));
    if (!is_float_type(entry.type))
        throw ConfigError(cat(description, " has the type ", to_string(entry.type),
                              ", but weights must be F64, F32, F16 or BF16; save it as one of these types"));
}

// A matrix in host memory, of any type in which files can store weights.
struct StoredMatrix {
    archive::StoredType type = archive::StoredType::f32;
    std::byte* data = nullptr;
    std::size_t stride = 0;  // bytes from one row to the next
};

// Converts rows from type `from` and writes them to `to`, which has the elements of `box`.
void convert_rows(const StoredRows& rows, archive::StoredType from, const layout::Box& box,
                  const StoredMatrix& to) {
    const std::size_t from_bytes = rows.box.columns.count * byte_size(from);
    const std::size_t to_bytes = rows.box.columns.count * byte_size(to.type);
    std::byte* const first = to.data + (rows.box.rows.begin - box.rows.begin) * to.stride +
                             (rows.box.columns.begin - box.columns.begin) * byte_size(to.type);
    const bool is_contiguous = rows.stride == from_bytes && to.stride == to_bytes;
    const std::size_t calls = is_contiguous ? 1 : rows.box.rows.count;
    const std::size_t rows_per_call = is_contiguous ? rows.box.rows.count : 1;
    for (std::size_t r = 0; r < calls; ++r)
        convert_floats(from, {rows.first + r * rows.stride, rows_per_call * from_bytes}, to.type,
                       {first + r * to.stride, rows_per_call * to_bytes});
}

archive::StoredType to_stored_type(device::DType dtype) {
    if (dtype == device::DType::f32) return archive::StoredType::f32;
    if (dtype == device::DType::f64) return archive::StoredType::f64;
    if (dtype == device::DType::bf16) return archive::StoredType::bf16;
    throw BugError(cat("weights cannot be read as ", to_string(dtype)));
}

StoredMatrix make_matrix(const device::Tensor& tensor) {
    return {.type = to_stored_type(tensor.dtype),
            .data = static_cast<std::byte*>(tensor.data),
            .stride = tensor.stride * byte_size(tensor.dtype)};
}

// Like convert_rows(), but `to` may be in GPU memory. Several threads may call this function at once.
void write_rows(const StoredRows& rows, archive::StoredType from, const layout::Box& box,
                const device::Tensor& to) {
    if (to.memory_space != device::MemorySpace::gpu) return convert_rows(rows, from, box, make_matrix(to));
    const layout::Box& part = rows.box;
    std::vector<std::byte> bytes(part.size() * byte_size(to.dtype));
    const device::Tensor converted{bytes.data(), to.dtype, part.rows.count, part.columns.count,
                                   part.columns.count};
    convert_rows(rows, from, part, make_matrix(converted));
    copy_rows(converted, to.row_range(part.rows.begin - box.rows.begin, part.rows.count)
                             .column_range(part.columns.begin - box.columns.begin, part.columns.count));
}

std::string format_first_names(const std::vector<std::string>& names) {
    constexpr std::size_t max_names = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(max_names, names.size()); ++i)
        text += cat(i == 0 ? "" : ", ", names[i]);
    return names.size() > max_names ? cat(text, " and ", names.size() - max_names, " more") : text;
}

// Throws ConfigError unless the tensors of a checkpoint are the parameters of the model in its config.json.
// Parameters of the head may be missing, because a checkpoint can be made from a base model.
void check_tensors_of_checkpoint(const StoredModel& stored) {
    const LoadReport report = check_parameters(stored, list_unique_parameters(build_layers(stored.config())));
    if (report.unused_tensors.empty()) return;
    throw ConfigError(
        cat(stored.path(), " holds ", format_count(report.unused_tensors.size(), "tensor"),
            " that the model of its config.json does not have: ", format_first_names(report.unused_tensors),
            "; copy the checkpoint again, or use ", "another one"));
}

}  // namespace

const TensorEntry& StoredModel::Storage::find_checked(const model::ParameterSpec& spec) const {
    const TensorEntry* entry = find(spec);
    if (entry == nullptr)
        throw BugError(
            cat("the parameter ", spec.name, " was requested from ", path, ", which does not store it"));
    check_entry(*entry, spec, find_file_path(*entry));
    return *entry;
}

UseRows StoredModel::Storage::make_row_writer(const device::Tensor& to, const layout::Box& box,
                                              archive::StoredType type) const {
    return [this, to, box, type](const StoredRows& rows) {
        write_rows(rows, type, box, to);
        report_progress(rows, type);
    };
}

StoredModel StoredModel::open(const std::filesystem::path& path) {
    const ModelLocation location = find_model(path);
    StoredModel stored(std::make_unique<Storage>(location.is_checkpoint ? open_checkpoint(location.path)
                                                                        : open_huggingface(location.path)));
    if (stored.is_checkpoint()) check_tensors_of_checkpoint(stored);
    return stored;
}

StoredModel::StoredModel(std::unique_ptr<Storage> storage) : storage_(std::move(storage)) {}
StoredModel::StoredModel(StoredModel&&) noexcept = default;
StoredModel& StoredModel::operator=(StoredModel&&) noexcept = default;
StoredModel::~StoredModel() = default;

const std::string& StoredModel::path() const { return storage_->path; }
bool StoredModel::is_checkpoint() const { return storage_->checkpoint != nullptr; }
const model::ModelConfig& StoredModel::config() const { return storage_->config; }
const std::string& StoredModel::config_text() const { return storage_->config_text; }
const CheckpointState* StoredModel::state() const {
    return is_checkpoint() ? &storage_->checkpoint->state : nullptr;
}
std::uint64_t StoredModel::step() const { return storage_->step(); }
const std::string& StoredModel::tokenizer() const { return storage_->tokenizer; }
const std::string& StoredModel::generation_config() const { return storage_->generation_config; }

bool StoredModel::has(const model::ParameterSpec& spec) const {
    const TensorEntry* entry = storage_->find(spec);
    if (entry != nullptr) check_entry(*entry, spec, storage_->find_file_path(*entry));
    return entry != nullptr;
}

archive::StoredType StoredModel::find_original_type(const model::ParameterSpec& spec) const {
    return storage_->find_checked(spec).original_type;
}

std::size_t StoredModel::count_stored_bytes(const std::vector<model::ParameterSpec>& specs) const {
    std::size_t bytes = 0;
    for (const model::ParameterSpec& spec : specs) {
        if (!has(spec)) continue;
        const std::size_t element_bytes = byte_size(storage_->find_checked(spec).type);
        for (const auto& placement : spec.placements) bytes += placement.box.size() * element_bytes;
    }
    return bytes;
}

void StoredModel::read(const model::ParameterSpec& spec, device::Tensor values) const {
    const TensorEntry& entry = storage_->find_checked(spec);
    for (const auto& [box, row, column] : spec.placements) {
        const device::Tensor to = values.row_range(row, box.rows.count).column_range(column, box.columns.count);
        storage_->read(entry, spec.all_columns, box, storage_->make_row_writer(to, box, entry.type));
    }
}

void StoredModel::read(const model::ParameterSpec& spec, archive::StoredType type,
                       std::span<std::byte> bytes) const {
    const TensorEntry& entry = storage_->find_checked(spec);
    const layout::Box all{{0, spec.all_rows}, {0, spec.all_columns}};
    const StoredMatrix to{.type = type, .data = bytes.data(), .stride = spec.all_columns * byte_size(type)};
    if (bytes.size() != all.size() * byte_size(type))
        throw BugError(cat("reading ", spec.name, " needs ", all.size() * byte_size(type),
                           " bytes, but its destination has ", bytes.size()));
    storage_->read(entry, spec.all_columns, all,
                   [&](const StoredRows& rows) { convert_rows(rows, entry.type, all, to); });
}

void StoredModel::read(const std::vector<StateView>& views, int threads) const {
    std::vector<ReadRequest> requests;
    for (const StateView& view : views) {
        const TensorEntry& entry = storage_->find_by_name(view.tensor);
        requests.push_back({.tensor = entry.state_index,
                            .field = view.field,
                            .box = view.box,
                            .use = storage_->make_row_writer(view.memory, view.box, entry.type)});
    }
    storage_->checkpoint->parts.read(requests, threads);
}

bool StoredModel::has_moments(const std::string& tensor) const {
    return state()->tensors[storage_->find_by_name(tensor).state_index].has_moments;
}

UpdateCounts StoredModel::read_update_counts(const std::vector<StateView>& views) const {
    std::map<std::string, std::set<std::uint64_t>> recorded;
    for (const StateView& view : views)
        storage_->checkpoint->parts.add_updates(recorded[view.tensor],
                                                storage_->find_by_name(view.tensor).state_index, view.box);
    UpdateCounts counts;
    for (const auto& [tensor, numbers] : recorded) {
        if (numbers.size() > 1)
            throw ConfigError(cat(path(), " has parts of ", tensor, " with ", *numbers.begin(), " and with ",
                                  *numbers.rbegin(), " optimizer updates; copy the checkpoint again, or use another one"));
        counts[tensor] = numbers.empty() ? 0 : *numbers.begin();
    }
    return counts;
}

std::vector<archive::StoredTensor> StoredModel::list_tensors() const {
    std::vector<archive::StoredTensor> all;
    for (const TensorEntry& entry : storage_->entries)
        all.push_back({.name = entry.name,
                       .type = entry.original_type,
                       .shape = entry.shape,
                       .end = entry.count_bytes()});
    return all;
}

void StoredModel::verify() const {
    if (is_checkpoint()) {
        verify_model_file(path());
        verify_resizing_files(path(), state()->save_id);
        storage_->checkpoint->parts.verify([this](const StoredRows& rows, archive::StoredType type) {
            storage_->report_progress(rows, type);
        });
        return;
    }
    for (const TensorEntry& entry : storage_->entries) {
        // Reads the tensor as a matrix with one column.
        const std::size_t elements = entry.count_bytes() / byte_size(entry.type);
        storage_->read(entry, 1, {{0, elements}, {0, 1}},
                       [&](const StoredRows& rows) { storage_->report_progress(rows, entry.type); });
    }
}

ReadProgress::ReadProgress(const StoredModel& stored, std::size_t total_bytes, bool is_quiet)
    : stored_(stored),
      line_(cat("reading ", stored.path()), "MB", static_cast<double>(total_bytes) / 1e6, is_quiet) {
    stored_.storage_->progress = this;
}

ReadProgress::~ReadProgress() { stored_.storage_->progress = nullptr; }

void ReadProgress::add(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    line_.advance(static_cast<double>(bytes) / 1e6);
}

std::vector<std::string> StoredModel::list_unused_tensors(
    const std::vector<model::ParameterSpec>& specs) const {
    std::unordered_set<const TensorEntry*> used_entries;
    for (const model::ParameterSpec& spec : specs) used_entries.insert(storage_->find(spec));
    std::vector<std::string> names;
    for (const TensorEntry& entry : storage_->entries) {
        if (!used_entries.contains(&entry) && !is_redundant(entry.name, storage_->config.tied))
            names.push_back(entry.name);
    }
    return names;
}

LoadReport check_parameters(const StoredModel& stored, const std::vector<model::ParameterSpec>& specs) {
    LoadReport report;
    std::vector<std::string> missing;
    for (const model::ParameterSpec& spec : specs)
        if (!stored.has(spec))
            (spec.belongs_to_head ? report.missing_parameters : missing).push_back(spec.name);
    if (!missing.empty())
        throw ConfigError(cat(stored.path(), " lacks ", missing.size(), " of the model's ", specs.size(),
                              " parameters: ", format_first_names(missing),
                              "; choose the model that it was saved from, or another file"));
    report.unused_tensors = stored.list_unused_tensors(specs);
    return report;
}

void StoredModel::read(const std::vector<model::ParameterSpec>& specs, std::span<const device::Tensor> values,
                       int threads) const {
    std::vector<ReadRequest> requests;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        if (!has(specs[i])) continue;
        if (!is_checkpoint()) {
            read(specs[i], values[i]);
            continue;
        }
        const TensorEntry& entry = storage_->find_checked(specs[i]);
        for (const auto& [box, row, column] : specs[i].placements)
            requests.push_back(
                {.tensor = entry.state_index,
                 .box = box,
                 .use = storage_->make_row_writer(
                     values[i].row_range(row, box.rows.count).column_range(column, box.columns.count), box,
                     entry.type)});
    }
    if (is_checkpoint()) storage_->checkpoint->parts.read(requests, threads);
}

LoadReport load_parameters(const StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                           std::span<const device::Tensor> values, int threads) {
    LoadReport report = check_parameters(stored, specs);
    stored.read(specs, values, threads);
    return report;
}

}  // namespace trireme::checkpoint
