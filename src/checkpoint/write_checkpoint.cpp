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
void write_text_files(const fs::path& folder, const CheckpointState& state, const ModelDescription& description,
                      const PhaseObserver& before_phase) {
    if (before_phase) before_phase(SavePhase::config);
    archive::write_file_atomically(folder / config_file, description.config);
    if (!description.tokenizer.empty())
        archive::write_file_atomically(folder / tokenizer_file, description.tokenizer);
    if (!description.generation_config.empty())
        archive::write_file_atomically(folder / generation_file, description.generation_config);
    if (before_phase) before_phase(SavePhase::state);
    archive::write_file_atomically(folder / state_file, to_json(state));
}

void write_latest_file(const fs::path& folder) {
    archive::write_file_atomically(folder.parent_path() / latest_file, folder.filename().string() + "\n");
}

}  // namespace

std::string make_config_text(const model::ModelConfig& model, const std::vector<CheckpointTensor>& tensors,
                             const std::string& base) {
    const bool is_f64 = std::ranges::any_of(
        tensors, [](const CheckpointTensor& tensor) { return tensor.type == archive::StoredType::f64; });
    return to_config_json(model, is_f64 ? "float64" : "float32", base);
}

CheckpointState make_checkpoint_state(const ModelDescription& description,
                                      std::vector<CheckpointTensor> tensors) {
    const auto checksum = [](const std::string& text) { return text.empty() ? "" : sha256_hex(text); };
    return {.save_id = archive::make_random_digits(),
            .tensors = std::move(tensors),
            .config_sha256 = sha256_hex(description.config),
            .tokenizer_sha256 = checksum(description.tokenizer),
            .generation_sha256 = checksum(description.generation_config)};
}

fs::path make_checkpoint_path(const fs::path& checkpoints, std::uint64_t step) {
    return checkpoints / (step_prefix + std::to_string(step));
}

fs::path make_save_folder(const fs::path& checkpoints, const CheckpointState& state) {
    return archive::make_shared_partial_folder(make_checkpoint_path(checkpoints, state.step), state.save_id);
}

fs::path complete_checkpoint(const fs::path& checkpoints, const CheckpointState& state,
                             const VirtualModelFile& virtual_model_file, const ModelDescription& description,
                             const PhaseObserver& before_phase) {
    const fs::path partial = make_save_folder(checkpoints, state);
    fs::path path = make_checkpoint_path(checkpoints, state.step);
    if (before_phase) before_phase(SavePhase::model);
    archive::write_file_atomically(partial / model_file, virtual_model_file.make_bytes(state.save_id));
    write_text_files(partial, state, description, before_phase);
    if (before_phase) before_phase(SavePhase::place);
    archive::replace_folder(partial, path);
    if (before_phase) before_phase(SavePhase::latest);
    write_latest_file(path);
    return path;
}

void remove_old_checkpoints(const fs::path& checkpoints, std::size_t count, const PhaseObserver& before_phase) {
    if (count == 0) return;
    std::vector<std::pair<std::uint64_t, std::string>> steps;
    for (const std::string& name : archive::list_names(checkpoints))
        if (const auto step = parse_step(name)) steps.emplace_back(*step, name);
    std::ranges::sort(steps);
    const std::string latest = read_latest_name(checkpoints / latest_file);
    std::erase_if(steps, [&](const auto& each) { return each.second == latest; });
    // + 1 for the checkpoint that `latest` names, which is not in `steps`.
    for (std::size_t oldest = 0; steps.size() - oldest + 1 > count; ++oldest) {
        if (before_phase) before_phase(SavePhase::clean);
        archive::remove_folder(checkpoints / steps[oldest].second);
    }
}

fs::path write_checkpoint(const fs::path& checkpoints, CheckpointState state,
                          const ModelDescription& description, const TensorRowReader& read_rows,
                          archive::ExistingFolder existing) {
    archive::PartialFolder folder(make_checkpoint_path(checkpoints, state.step), existing);
    CheckpointPart& part = state.parts.emplace_back();
    for (std::size_t t = 0; t < state.tensors.size(); ++t)
        part.boxes.push_back({t, {{0, state.tensors[t].rows}, {0, state.tensors[t].columns}}});
    const PartLayout layout(state, 0);
    const PartWriter writer(folder.partial_path(), state, layout, {});
    writer.write(
        [&](std::size_t box, layout::Range range) { return read_rows(part.boxes[box].tensor, range); });
    archive::write_file_atomically(folder.partial_path() / model_file,
                                   VirtualModelFile(state).make_bytes(state.save_id));
    write_text_files(folder.partial_path(), state, description, {});
    folder.commit(state_file);
    const fs::path path = make_checkpoint_path(checkpoints, state.step);
    write_latest_file(path);
    return path;
}

}  // namespace trireme::checkpoint
