#include "trireme/checkpoint/write_checkpoint.hpp"

#include <algorithm>

#include "checkpoint/model_files.hpp"
#include "checkpoint/schema.hpp"
#include "trireme/archive/listing.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/model/config_json.hpp"

namespace trireme::checkpoint {
namespace fs = std::filesystem;
using namespace checkpoint_schema;

namespace {

// state.json is written last: if it exists, all other files do.
void write_texts(const fs::path& folder, const CheckpointState& state, const ModelDescription& description,
                 const BeforeStage& before) {
    if (before) before(SaveStage::config);
    archive::write_whole_file(folder / config_file, description.config);
    if (!description.tokenizer.empty())
        archive::write_whole_file(folder / tokenizer_file, description.tokenizer);
    if (!description.generation.empty())
        archive::write_whole_file(folder / generation_file, description.generation);
    if (before) before(SaveStage::state);
    archive::write_whole_file(folder / state_file, json_of(state));
}

void name_latest(const fs::path& folder) {
    archive::write_whole_file(folder.parent_path() / latest_file, folder.filename().string() + "\n");
}

}  // namespace

std::string config_text_of(const model::ModelConfig& model, const std::vector<CheckpointTensor>& tensors,
                           const std::string& base) {
    const bool is_f64 = std::ranges::any_of(
        tensors, [](const CheckpointTensor& tensor) { return tensor.type == archive::StoredType::f64; });
    return config_json_of(model, is_f64 ? "float64" : "float32", base);
}

CheckpointState state_of(const ModelDescription& description, std::vector<CheckpointTensor> tensors) {
    const auto sum_of = [](const std::string& text) { return text.empty() ? "" : sha256_hex(text); };
    return {.save = archive::random_digits(),
            .tensors = std::move(tensors),
            .config_sha256 = sha256_hex(description.config),
            .tokenizer_sha256 = sum_of(description.tokenizer),
            .generation_sha256 = sum_of(description.generation)};
}

fs::path place_of_checkpoint(const fs::path& checkpoints, std::uint64_t step) {
    return checkpoints / (step_prefix + std::to_string(step));
}

fs::path save_folder(const fs::path& checkpoints, const CheckpointState& state) {
    return archive::joint_partial_folder(place_of_checkpoint(checkpoints, state.step), state.save);
}

fs::path complete(const fs::path& checkpoints, const CheckpointState& state, const WholeTensors& tensors,
                  const ModelDescription& description, const BeforeStage& before) {
    const fs::path partial = save_folder(checkpoints, state);
    fs::path path = place_of_checkpoint(checkpoints, state.step);
    if (before) before(SaveStage::model);
    archive::write_whole_file(partial / model_file, tensors.shown_of(state.save));
    write_texts(partial, state, description, before);
    if (before) before(SaveStage::place);
    archive::put_in_place(partial, path);
    if (before) before(SaveStage::latest);
    name_latest(path);
    return path;
}

void keep_newest(const fs::path& checkpoints, std::size_t count, const BeforeStage& before) {
    if (count == 0) return;
    std::vector<std::pair<std::uint64_t, std::string>> found;
    for (const std::string& name : archive::names_in(checkpoints))
        if (const auto step = step_of(name)) found.emplace_back(*step, name);
    std::ranges::sort(found);
    const std::string latest = name_in_latest(checkpoints / latest_file);
    std::erase_if(found, [&](const auto& each) { return each.second == latest; });
    for (std::size_t oldest = 0; found.size() - oldest + 1 > count; ++oldest) {
        if (before) before(SaveStage::clean);
        archive::remove_folder(checkpoints / found[oldest].second);
    }
}

fs::path write_checkpoint(const fs::path& checkpoints, CheckpointState state,
                          const ModelDescription& description, const TensorRows& rows,
                          archive::Existing existing) {
    archive::PartialFolder folder(place_of_checkpoint(checkpoints, state.step), existing);
    CheckpointPart& part = state.parts.emplace_back();
    for (std::size_t t = 0; t < state.tensors.size(); ++t)
        part.boxes.push_back({t, {{0, state.tensors[t].rows}, {0, state.tensors[t].columns}}});
    const PartLayout layout(state, 0);
    const PartWriter writer(folder.partial_path(), state, layout, 0);
    writer.write([&](std::size_t box, layout::Range range) { return rows(part.boxes[box].tensor, range); });
    archive::write_whole_file(folder.partial_path() / model_file, WholeTensors(state).shown_of(state.save));
    write_texts(folder.partial_path(), state, description, {});
    folder.keep(state_file);
    const fs::path path = place_of_checkpoint(checkpoints, state.step);
    name_latest(path);
    return path;
}

}  // namespace trireme::checkpoint
