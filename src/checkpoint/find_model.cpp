// Finds the folder or file of a model from a path that the user gave.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "checkpoint/model_files.hpp"
#include "checkpoint/schema.hpp"
#include "trireme/archive/listing.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"
#include "trireme/checkpoint/stored_model.hpp"

namespace trireme::checkpoint {
namespace fs = std::filesystem;
namespace {

using namespace checkpoint_schema;
using namespace huggingface_files;

constexpr std::string_view path_hint =
    "name a checkpoint, a run directory, or a folder with config.json and model.safetensors";

bool is_checkpoint(const fs::path& folder) {
    const std::vector<std::string> names = archive::list_names(folder);
    return std::any_of(names.begin(), names.end(), [](const std::string& name) {
        return name == state_file || name.starts_with(part_prefix);
    });
}

// Returns the folder that the file `latest` names.
fs::path find_latest_folder(const fs::path& latest) {
    const std::string name = read_latest_name(latest);
    if (!parse_step(name))
        throw ConfigError(cat(latest.string(),
                              " is damaged: it does not name a folder step-N; give the path of that ",
                              "folder instead"));
    const fs::path folder = latest.parent_path() / name;
    if (!path_exists(folder))
        throw ConfigError(
            cat(latest.string(), " names ", name, ", which does not exist; name another folder step-N"));
    return folder;
}

// Returns the newest checkpoint in `folder`, a folder of checkpoints. A folder has the name step-N only if it
// is complete.
std::optional<fs::path> find_newest_folder(const fs::path& folder) {
    if (path_exists(folder / latest_file)) return find_latest_folder(folder / latest_file);
    std::optional<std::string> last;
    std::error_code ignored;
    for (const std::string& name : archive::list_names(folder)) {
        const auto step = parse_step(name);
        if (step && fs::is_directory(folder / name, ignored) && (!last || *step > *parse_step(*last)))
            last = name;
    }
    if (!last) return std::nullopt;
    return folder / *last;
}

bool is_huggingface_folder(const fs::path& folder) {
    return path_exists(folder / single_file) || path_exists(folder / index_file);
}

[[noreturn]] void refuse_folder(const fs::path& folder) {
    const std::string what = cat(folder.string(), " holds no model: ");
    for (const char* pickled : {"pytorch_model.bin", "pytorch_model.bin.index.json"})
        if (path_exists(folder / pickled))
            throw ConfigError(cat(what, pickled,
                                  " is in PyTorch's own format; load it in Python and save it with ",
                                  "save_pretrained(), which writes model.safetensors"));
    throw ConfigError(cat(what, "there is neither a checkpoint nor model.safetensors in it; ", path_hint));
}

// Returns true for the names of files in the folder of a model, except *.safetensors: find_model() accepts the
// path of such a file itself.
bool is_model_file_name(const std::string& name) {
    constexpr std::array names{latest_file, config_file, tokenizer_file, generation_file,
                               state_file,  model_file,  index_file};
    return name.starts_with(part_prefix) || name.starts_with(resizing_prefix) ||
           std::any_of(names.begin(), names.end(), [&](const char* known) { return name == known; });
}

}  // namespace

std::optional<std::uint64_t> parse_step(const std::string& name) {
    const std::string_view prefix = step_prefix;
    if (!name.starts_with(prefix)) return std::nullopt;
    std::uint64_t step = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, step);
    if (error != std::errc() || stop != end) return std::nullopt;
    return step;
}

std::string read_latest_name(const fs::path& latest) {
    std::string name = read_small_file(latest);
    while (!name.empty() && (name.back() == '\n' || name.back() == '\r')) name.pop_back();
    return name;
}

std::optional<fs::path> find_model_of_file(const fs::path& file) {
    const std::string name = file.filename().string();
    if (!is_model_file_name(name) || !path_exists(file)) return std::nullopt;
    if (name == latest_file) return find_latest_folder(file);
    const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    if (!is_checkpoint(folder) && !is_huggingface_folder(folder)) return std::nullopt;
    return folder;
}

ModelLocation find_model(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found)
        throw ConfigError(cat("the model ", path.string(), " does not exist; ", path_hint));
    if (!fs::exists(status))
        throw ConfigError(cat("the model ", quote_text(path.string()), " cannot be read: ", error.message(),
                              "; ", path_hint));
    if (!fs::is_directory(status)) {
        if (path.extension() != ".safetensors")
            throw ConfigError(cat(path.string(), " is not a model; ", path_hint));
        return {.path = path};
    }
    if (is_checkpoint(path)) return {.path = path, .is_checkpoint = true};
    if (is_huggingface_folder(path)) return {.path = path};
    for (const fs::path& folder : {path / checkpoints_folder, path})
        if (const auto found = find_newest_checkpoint(folder)) return {.path = *found, .is_checkpoint = true};
    refuse_folder(path);
}

std::optional<fs::path> find_newest_checkpoint(const fs::path& folder) {
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) return std::nullopt;
    return find_newest_folder(folder);
}

fs::path find_checkpoint(const fs::path& path) {
    const ModelLocation location = find_model(path);
    if (location.is_checkpoint) return location.path;
    throw ConfigError(cat(path.string(),
                          " is a Hugging Face model, not a checkpoint of a run; to start a run from it, use ",
                          "--init ", path.string()));
}

}  // namespace trireme::checkpoint
