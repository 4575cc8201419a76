#include "model/families/architectures.hpp"

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

// For each family and task, the first with a head is the one that is written.
constexpr Architecture architectures[] = {
    {"GPT2LMHeadModel", Family::gpt2, Task::language, true},
    {"GPT2Model", Family::gpt2, Task::language, false},
    {"LlamaForCausalLM", Family::llama, Task::language, true},
    {"LlamaModel", Family::llama, Task::language, false},
    {"BertForMaskedLM", Family::bert, Task::masked, true},
    {"BertForPreTraining", Family::bert, Task::masked, true},
    {"BertModel", Family::bert, Task::masked, false},
    {"BertForQuestionAnswering", Family::bert, Task::span, true},
    {"BertForSequenceClassification", Family::bert, Task::classify, true},
    {"ViTForImageClassification", Family::vit, Task::classify, true},
    {"ViTModel", Family::vit, Task::classify, false},
};

struct NamedActivation {
    const char* name;
    ActivationKind kind;
};

// The first name of each kind is the one that is written.
constexpr NamedActivation activations[] = {
    {"gelu_new", ActivationKind::gelu_tanh},
    {"gelu_pytorch_tanh", ActivationKind::gelu_tanh},
    {"gelu", ActivationKind::gelu},
    {"tanh", ActivationKind::tanh},
};

template <class Named>
std::string joined_names(const Named& all) {
    std::string text;
    for (const auto& one : all) text += cat(text.empty() ? "" : ", ", one.name);
    return text;
}

}  // namespace

const Architecture* architecture_named(std::string_view name) {
    for (const Architecture& architecture : architectures) {
        if (name == architecture.name) return &architecture;
    }
    return nullptr;
}

const char* architecture_of(Family family, Task task) {
    for (const Architecture& architecture : architectures) {
        if (architecture.family == family && architecture.task == task) return architecture.name;
    }
    throw BugError(cat("a ", name_of(family), " model has no head for the task ", name_of(task)));
}

std::string known_architectures() { return joined_names(architectures); }

std::optional<Family> family_named(std::string_view model_type) {
    for (const Family family : {Family::gpt2, Family::llama, Family::bert, Family::vit}) {
        if (model_type == name_of(family)) return family;
    }
    return std::nullopt;
}

std::optional<ActivationKind> activation_named(std::string_view name) {
    for (const NamedActivation& activation : activations) {
        if (name == activation.name) return activation.kind;
    }
    return std::nullopt;
}

const char* name_of(ActivationKind kind) {
    for (const NamedActivation& activation : activations) {
        if (activation.kind == kind) return activation.name;
    }
    throw BugError("unknown activation");
}

std::string known_activations() { return joined_names(activations); }

}  // namespace trireme
