#include "trireme/checkpoint/stored_model.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "checkpoint/model_files.hpp"
#include "checkpoint/names.hpp"
#include "trireme/archive/float_types.hpp"
#include "trireme/base/error.hpp"
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
        for (const std::string& name : stored_names_of(spec.name, config.tied)) {
            const auto at = by_name.find(name);
            if (at != by_name.end()) return at->second;
        }
        return nullptr;
    }

    const TensorEntry& find_checked(const model::ParameterSpec& spec) const;

    const std::string& file_of(const TensorEntry& entry) const {
        return checkpoint ? place : file_paths[entry.file];
    }
    // Finds a tensor of a checkpoint by its name.
    const TensorEntry& named(const std::string& name) const {
        const auto at = by_name.find(name);
        if (at == by_name.end()) throw BugError(cat(name, " was asked of ", place, ", which has none"));
        return *at->second;
    }

    // Returns a function that puts rows of the box `all` into `to` and counts them.
    UseRows put_into(const device::Tensor& to, const layout::Box& all, archive::StoredType type) const;
    void count(const StoredRows& rows, archive::StoredType type) const {
        if (progress != nullptr) progress->add(rows.box.size() * bytes_of(type));
    }

    std::unordered_map<std::string, const TensorEntry*> by_name;
    ReadProgress* progress = nullptr;  // null if reads are not shown
};

namespace {

void check_entry(const TensorEntry& entry, const model::ParameterSpec& spec, const std::string& place) {
    const std::string what = cat(entry.name, " of ", place);
    if (!std::equal(entry.shape.begin(), entry.shape.end(), spec.shape.begin(), spec.shape.end()))
        throw ConfigError(cat(what, " has the shape ", archive::shape_text(entry.shape), ", but the model's ",
                              spec.name, " has ", archive::shape_text(spec.shape),
                              "; choose the model that it was saved from, or another file"));
    if (!is_float(entry.type))
        throw ConfigError(cat(what, " is of type ", name_of(entry.type),
                              "; weights are read from F64, F32, F16 and BF16: save it as one of them"));
}

// A matrix in host memory, of any type in which weights are stored.
struct StoredMatrix {
    archive::StoredType type = archive::StoredType::f32;
    std::byte* data = nullptr;
    std::size_t stride = 0;  // bytes from one row to the next
};

// Converts rows that were read into `to`, whose first element is that of `box`.
void convert_rows(const StoredRows& rows, archive::StoredType from, const layout::Box& box,
                  const StoredMatrix& to) {
    const std::size_t from_bytes = rows.box.columns.count * bytes_of(from);
    const std::size_t to_bytes = rows.box.columns.count * bytes_of(to.type);
    std::byte* const first = to.data + (rows.box.rows.begin - box.rows.begin) * to.stride +
                             (rows.box.columns.begin - box.columns.begin) * bytes_of(to.type);
    const bool at_once = rows.stride == from_bytes && to.stride == to_bytes;
    const std::size_t calls = at_once ? 1 : rows.box.rows.count;
    const std::size_t each = at_once ? rows.box.rows.count : 1;
    for (std::size_t r = 0; r < calls; ++r)
        convert_floats(from, {rows.first + r * rows.stride, each * from_bytes}, to.type,
                       {first + r * to.stride, each * to_bytes});
}

archive::StoredType stored_type_of(device::DType dtype) {
    if (dtype == device::DType::f32) return archive::StoredType::f32;
    if (dtype == device::DType::f64) return archive::StoredType::f64;
    if (dtype == device::DType::bf16) return archive::StoredType::bf16;
    throw BugError(cat("weights were asked for as ", name_of(dtype)));
}

StoredMatrix matrix_of(const device::Tensor& tensor) {
    return {.type = stored_type_of(tensor.dtype),
            .data = static_cast<std::byte*>(tensor.data),
            .stride = tensor.stride * bytes_of(tensor.dtype)};
}

// Does the same if `to` may be in GPU memory. Called by several threads.
void put_rows(const StoredRows& rows, archive::StoredType from, const layout::Box& box,
              const device::Tensor& to) {
    if (to.place != device::MemorySpace::gpu) return convert_rows(rows, from, box, matrix_of(to));
    const layout::Box& part = rows.box;
    std::vector<std::byte> bytes(part.size() * bytes_of(to.dtype));
    const device::Tensor converted{bytes.data(), to.dtype, part.rows.count, part.columns.count,
                                   part.columns.count};
    convert_rows(rows, from, part, matrix_of(converted));
    copy_rows(converted, to.row_range(part.rows.begin - box.rows.begin, part.rows.count)
                             .column_range(part.columns.begin - box.columns.begin, part.columns.count));
}

std::string first_names(const std::vector<std::string>& names) {
    constexpr std::size_t most = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i) text += cat(i == 0 ? "" : ", ", names[i]);
    return names.size() > most ? cat(text, " and ", names.size() - most, " more") : text;
}

// Throws ConfigError unless all tensors of a checkpoint are parameters of its config.json. A converted base
// model has no head.
void check_own_tensors(const StoredModel& stored) {
    const LoadReport report = check_fit(stored, unique_parameters(build_layers(stored.config())));
    if (report.unused.empty()) return;
    throw ConfigError(cat(stored.place(), " holds ", report.unused.size(),
                          " tensors that its config.json has no ", "place for: ", first_names(report.unused),
                          "; copy the checkpoint again, or use ", "another one"));
}

}  // namespace

const TensorEntry& StoredModel::Storage::find_checked(const model::ParameterSpec& spec) const {
    const TensorEntry* entry = find(spec);
    if (entry == nullptr) throw BugError(cat(spec.name, " was asked of ", place, ", which has none"));
    check_entry(*entry, spec, file_of(*entry));
    return *entry;
}

UseRows StoredModel::Storage::put_into(const device::Tensor& to, const layout::Box& all,
                                       archive::StoredType type) const {
    return [this, to, all, type](const StoredRows& rows) {
        put_rows(rows, type, all, to);
        count(rows, type);
    };
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
bool StoredModel::is_checkpoint() const { return storage_->checkpoint != nullptr; }
const model::ModelConfig& StoredModel::config() const { return storage_->config; }
const std::string& StoredModel::config_text() const { return storage_->config_text; }
const CheckpointState* StoredModel::state() const {
    return is_checkpoint() ? &storage_->checkpoint->state : nullptr;
}
std::uint64_t StoredModel::step() const { return storage_->step(); }
const std::string& StoredModel::tokenizer() const { return storage_->tokenizer; }
const std::string& StoredModel::generation() const { return storage_->generation; }

bool StoredModel::has(const model::ParameterSpec& spec) const {
    const TensorEntry* entry = storage_->find(spec);
    if (entry != nullptr) check_entry(*entry, spec, storage_->file_of(*entry));
    return entry != nullptr;
}

archive::StoredType StoredModel::type_of(const model::ParameterSpec& spec) const {
    return storage_->find_checked(spec).source;
}

std::size_t StoredModel::stored_bytes(const std::vector<model::ParameterSpec>& specs) const {
    std::size_t bytes = 0;
    for (const model::ParameterSpec& spec : specs) {
        if (!has(spec)) continue;
        const std::size_t element_bytes = bytes_of(storage_->find_checked(spec).type);
        for (const auto& placement : spec.placements) bytes += placement.box.size() * element_bytes;
    }
    return bytes;
}

void StoredModel::read(const model::ParameterSpec& spec, device::Tensor values) const {
    const TensorEntry& entry = storage_->find_checked(spec);
    for (const auto& [box, row, column] : spec.placements) {
        const device::Tensor to = values.row_range(row, box.rows.count).column_range(column, box.columns.count);
        storage_->read(entry, spec.all_columns, box, storage_->put_into(to, box, entry.type));
    }
}

void StoredModel::read(const model::ParameterSpec& spec, archive::StoredType type,
                       std::span<std::byte> bytes) const {
    const TensorEntry& entry = storage_->find_checked(spec);
    const layout::Box all{{0, spec.all_rows}, {0, spec.all_columns}};
    const StoredMatrix to{.type = type, .data = bytes.data(), .stride = spec.all_columns * bytes_of(type)};
    if (bytes.size() != all.size() * bytes_of(type))
        throw BugError(cat(spec.name, " was to be read into ", bytes.size(), " bytes"));
    storage_->read(entry, spec.all_columns, all,
                   [&](const StoredRows& rows) { convert_rows(rows, entry.type, all, to); });
}

void StoredModel::read(const std::vector<StateView>& views, int threads) const {
    std::vector<WantedBox> wanted;
    for (const StateView& view : views) {
        const TensorEntry& entry = storage_->named(view.tensor);
        wanted.push_back({.tensor = entry.number,
                          .field = view.field,
                          .box = view.box,
                          .use = storage_->put_into(view.memory, view.box, entry.type)});
    }
    storage_->checkpoint->parts.read(wanted, threads);
}

std::uint64_t StoredModel::updates_behind(const std::vector<StateView>& views) const {
    std::set<std::uint64_t> counts;
    for (const StateView& view : views)
        storage_->checkpoint->parts.add_updates(counts, storage_->named(view.tensor).number, view.box);
    if (counts.size() <= 1) return counts.empty() ? 0 : *counts.begin();
    throw ConfigError(
        cat(place(), " has parts that were updated ", *counts.begin(), " and ", *counts.rbegin(),
            " times, because stages skipped updates on their own; resume with the layout that it was ",
            "saved with"));
}

std::vector<archive::StoredTensor> StoredModel::tensors() const {
    std::vector<archive::StoredTensor> all;
    for (const TensorEntry& entry : storage_->entries)
        all.push_back({.name = entry.name, .type = entry.source, .shape = entry.shape, .end = entry.bytes()});
    return all;
}

void StoredModel::verify() const {
    if (is_checkpoint()) {
        verify_model_file(place());
        verify_resizing_files(place(), state()->save);
        storage_->checkpoint->parts.verify(
            [this](const StoredRows& rows, archive::StoredType type) { storage_->count(rows, type); });
        return;
    }
    for (const TensorEntry& entry : storage_->entries) {
        const std::size_t elements = entry.bytes() / bytes_of(entry.type);
        storage_->read(entry, 1, {{0, elements}, {0, 1}},
                       [&](const StoredRows& rows) { storage_->count(rows, entry.type); });
    }
}

ReadProgress::ReadProgress(const StoredModel& stored, std::size_t total_bytes, bool is_quiet)
    : stored_(stored),
      line_(cat("reading ", stored.place()), "MB", static_cast<double>(total_bytes) / 1e6, is_quiet) {
    stored_.storage_->progress = this;
}

ReadProgress::~ReadProgress() { stored_.storage_->progress = nullptr; }

void ReadProgress::add(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    line_.advance(static_cast<double>(bytes) / 1e6);
}

std::vector<std::string> StoredModel::unused(const std::vector<model::ParameterSpec>& specs) const {
    std::unordered_set<const TensorEntry*> used;
    for (const model::ParameterSpec& spec : specs) used.insert(storage_->find(spec));
    std::vector<std::string> names;
    for (const TensorEntry& entry : storage_->entries) {
        if (!used.contains(&entry) && !holds_nothing_new(entry.name, storage_->config.tied))
            names.push_back(entry.name);
    }
    return names;
}

LoadReport check_fit(const StoredModel& stored, const std::vector<model::ParameterSpec>& specs) {
    LoadReport report;
    std::vector<std::string> needed;
    for (const model::ParameterSpec& spec : specs)
        if (!stored.has(spec)) (spec.is_of_head ? report.missing : needed).push_back(spec.name);
    if (!needed.empty())
        throw ConfigError(cat(stored.place(), " lacks ", needed.size(), " of the model's ", specs.size(),
                              " parameters: ", first_names(needed),
                              "; choose the model that it was saved from, or another file"));
    report.unused = stored.unused(specs);
    return report;
}

void StoredModel::read(const std::vector<model::ParameterSpec>& specs, const model::ParameterTensors& values,
                       int threads) const {
    std::vector<WantedBox> wanted;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        if (!has(specs[i])) continue;
        if (!is_checkpoint()) {
            read(specs[i], values[i]);
            continue;
        }
        const TensorEntry& entry = storage_->find_checked(specs[i]);
        for (const auto& [box, row, column] : specs[i].placements)
            wanted.push_back(
                {.tensor = entry.number,
                 .box = box,
                 .use = storage_->put_into(
                     values[i].row_range(row, box.rows.count).column_range(column, box.columns.count), box,
                     entry.type)});
    }
    if (is_checkpoint()) storage_->checkpoint->parts.read(wanted, threads);
}

LoadReport load(const StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                const model::ParameterTensors& values, int threads) {
    LoadReport report = check_fit(stored, specs);
    stored.read(specs, values, threads);
    return report;
}

}  // namespace trireme::checkpoint
