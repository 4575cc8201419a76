// From what a user named to the folder or file of a model.
#include <charconv>
#include <optional>

#include "checkpoint/model_files.hpp"
#include "checkpoint/schema.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace fs = std::filesystem;
namespace {

using namespace checkpoint_schema;

constexpr std::string_view wanted =
    "name a checkpoint, a run directory, or a folder with config.json and model.safetensors";

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

// The N of "step-N".
std::optional<std::uint64_t> step_of(const std::string& name) {
    const std::string_view prefix = step_prefix;
    if (!name.starts_with(prefix)) return std::nullopt;
    std::uint64_t step = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, step);
    if (error != std::errc() || stop != end) return std::nullopt;
    return step;
}

bool holds_parts(const fs::path& folder) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
        if (entry.path().filename().string().starts_with(part_prefix)) return true;
    return false;
}

// The folder that `latest` names.
fs::path named_by(const fs::path& latest) {
    std::string name = read_small_file(latest);
    while (!name.empty() && (name.back() == '\n' || name.back() == '\r')) name.pop_back();
    if (!step_of(name))
        throw ConfigError(
            cat(latest.string(), " is damaged: it does not name a folder step-N; name the folder ", "itself"));
    const fs::path folder = latest.parent_path() / name;
    if (!is_there(folder))
        throw ConfigError(cat(latest.string(), " names ", name, ", which does not exist; name another step-N"));
    return folder;
}

// The newest checkpoint of a folder of checkpoints. Where a save was interrupted before it wrote `latest`, the
// folders themselves say which it is: they have their names only when they are whole.
std::optional<fs::path> newest(const fs::path& folder) {
    if (is_there(folder / latest_file)) return named_by(folder / latest_file);
    std::optional<std::uint64_t> last;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
        const auto step = step_of(entry.path().filename().string());
        if (step && entry.is_directory(error) && (!last || *step > *last)) last = step;
    }
    if (!last) return std::nullopt;
    return folder / (step_prefix + std::to_string(*last));
}

bool is_huggingface(const fs::path& folder) {
    return is_there(folder / "model.safetensors") || is_there(folder / "model.safetensors.index.json");
}

[[noreturn]] void refuse_folder(const fs::path& folder) {
    const std::string what = cat(folder.string(), " holds no model: ");
    for (const char* pickled : {"pytorch_model.bin", "pytorch_model.bin.index.json"})
        if (is_there(folder / pickled))
            throw ConfigError(cat(what, pickled,
                                  " is in PyTorch's own format; load it in Python and save it with ",
                                  "save_pretrained(), which writes model.safetensors"));
    throw ConfigError(cat(what, "there is neither a checkpoint nor model.safetensors in it; ", wanted));
}

}  // namespace

ModelPlace find_model(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) throw ConfigError(cat("the model ", path.string(), " does not exist; ", wanted));
    if (!fs::is_directory(status)) {
        if (path.extension() != ".safetensors") throw ConfigError(cat(path.string(), " is no model; ", wanted));
        return {.path = path};
    }
    if (holds_parts(path)) return {.path = path, .is_checkpoint = true};
    if (is_huggingface(path)) return {.path = path};
    for (const fs::path& folder : {path / "checkpoints", path})
        if (const auto found = newest(folder)) return {.path = *found, .is_checkpoint = true};
    refuse_folder(path);
}

}  // namespace trireme
