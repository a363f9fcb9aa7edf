//! `#[scenario]`: one function becomes one entry of the registry.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprCall, LitInt, LitStr, Path, ReturnType, Type};

use crate::attr::{self, AttrKey, AttrOptions};
use crate::errors::Errors;
use crate::expansion::{self, first_line, location, some_or_none};
use crate::generic::{self, Generic};
use crate::signature::{Function, FunctionParameter, FunctionParameters};
use crate::sweep::SweepSpec;

const KEYS: &[AttrKey] = &[
    AttrKey { name: "id", example: "id = \"CV-1\"" },
    AttrKey { name: "category", example: "category = \"Computer vision\"" },
    AttrKey { name: "sets", example: "sets = [\"gate\"]" },
    AttrKey { name: "equivalence", example: "equivalence = approx(1e-5)" },
    AttrKey { name: "filter", example: "filter = makes_sense" },
    AttrKey { name: "needs", example: "needs = memory_and_batch" },
    AttrKey { name: "describe", example: "describe = what_a_point_does" },
    AttrKey { name: "workload", example: "workload = pipeline_of_a_point" },
    AttrKey { name: "types", example: "types = [Vec<u64>, VecDeque<u64>]" },
    AttrKey { name: "consts", example: "consts = [1, 64]" },
    AttrKey { name: "group", example: "group = \"Sorting\"" },
    AttrKey { name: "ranks", example: "ranks = \"collective\"" },
    AttrKey { name: "samples", example: "samples = 100" },
    AttrKey { name: "min_time", example: "min_time = 0.5" },
    AttrKey { name: "max_time", example: "max_time = 10" },
    AttrKey { name: "repeats", example: "repeats = 9" },
    AttrKey { name: "worker_threads", example: "worker_threads = 2" },
    AttrKey { name: "crate", example: "crate = weighbridge" },
];

/// A scenario that holds to all rules.
struct ScenarioModel {
    runtime: Path,
    name: Ident,
    id: LitStr,
    category: String,
    description: String,
    sets: Vec<LitStr>,
    equivalence: Option<TokenStream>,
    /// The function that says what must agree at a point.
    equivalence_by: Option<Expr>,
    filter: Option<Expr>,
    needs: Option<Expr>,
    describe: Option<Expr>,
    /// The function that gives the workload of a point, which says both.
    workload: Option<Expr>,
    group: Option<LitStr>,
    /// True if all ranks of a run do one thing together.
    collective: bool,
    budget: BudgetKeys,
    worker_threads: Option<LitInt>,
    is_async: bool,
    generics: Vec<Generic>,
    bencher: Type,
    parameters: Vec<FunctionParameter>,
    /// The type that it gives back, for mistakes about it.
    output: Span,
}

/// Expands `#[scenario(...)]`: the function as the author wrote it, and beside it its registration, or what
/// is wrong.
pub(crate) fn expand(options: TokenStream, item: &TokenStream) -> TokenStream {
    let Ok(function) = syn::parse2::<Function>(item.clone()) else {
        let message = "`#[scenario]` goes on a function: `fn name(bencher: &mut Bencher) { ... }`";
        let error = syn::Error::new_spanned(first_line(item), message).into_compile_error();
        return quote!(#item #error);
    };
    let beside = match ScenarioModel::check(options, &function) {
        Ok(model) => model.into_tokens(),
        Err(errors) => errors.into_compile_error(),
    };
    let function = function.without_helpers();
    // The bencher is lent mutably so that nobody holds on to it; that its methods do not ask for that is no
    // fault of the author.
    quote!(#[allow(clippy::needless_pass_by_ref_mut)] #function #beside)
}

impl ScenarioModel {
    fn check(options: TokenStream, function: &Function) -> syn::Result<Self> {
        let mut errors = Errors::default();
        let signature = &function.signature;
        let options = AttrOptions::parse(options, KEYS, &mut errors);
        attr::refuse_second("scenario", &function.attributes, &mut errors);
        let id = check_id(&options, &signature.ident, &mut errors);
        let category = options.text("category", &mut errors);
        if let Some(category) = &category {
            attr::refuse_unshowable("the category", category, &mut errors);
        }
        let sets = options.texts("sets", &mut errors);
        check_sets(&sets, &mut errors);
        let (equivalence, equivalence_by) = check_equivalence(&options, &mut errors);
        let filter = options.path("filter", &mut errors);
        let needs = options.path("needs", &mut errors);
        let describe = options.path("describe", &mut errors);
        let workload = options.path("workload", &mut errors);
        for told in ["needs", "describe"] {
            if let (Some(_), Some(key)) = (&workload, options.key(told)) {
                errors.at(key, format!("the workload says it: remove `{told}` or `workload`"));
            }
        }
        let group = options.text("group", &mut errors);
        if let Some(group) = &group {
            attr::refuse_unshowable("the name of the group", group, &mut errors);
        }
        let collective = check_ranks(&options, &mut errors);
        let budget = BudgetKeys::check(&options, &mut errors);
        let generics = generic::check(&signature.generics, &options, &mut errors);
        let worker_threads = check_worker_threads(&options, signature.asyncness.is_some(), &mut errors);
        let runtime = options.runtime(&mut errors);
        let FunctionParameters { bencher, rest: parameters } =
            FunctionParameters::check(signature, &mut errors);
        refuse_group_with_contract(&options, &parameters, &mut errors);
        refuse_doubled_axis(&generics, &parameters, &mut errors);
        if let (Some(key), false) = (
            options.key("filter"),
            parameters.iter().any(|parameter| matches!(parameter, FunctionParameter::Swept(_))),
        ) {
            errors.at(key, "nothing to filter: the scenario has no axis");
        }
        let model = id.zip(bencher).map(|(id, bencher)| Self {
            runtime,
            name: signature.ident.clone(),
            id,
            category: category.map_or_else(|| "Uncategorised".to_owned(), |category| category.value()),
            description: attr::description(&function.attributes),
            sets,
            equivalence,
            equivalence_by,
            filter,
            needs,
            describe,
            workload,
            group,
            collective,
            budget,
            worker_threads,
            is_async: signature.asyncness.is_some(),
            generics,
            bencher,
            parameters,
            output: match &signature.output {
                ReturnType::Type(_, ty) => ty.span(),
                ReturnType::Default => Span::call_site(),
            },
        });
        errors.unless_any(model)
    }

    fn into_tokens(self) -> TokenStream {
        let swept = || {
            self.parameters.iter().filter_map(|parameter| match parameter {
                FunctionParameter::Swept(swept) => Some(swept),
                FunctionParameter::Subject { .. } => None,
            })
        };
        // The axes of generic parameters come first: filters and the like take the others alone.
        let own = self.generics.len();
        let generic = self.generics.iter().enumerate().map(|(index, generic)| generic.axis.functions(index));
        let functions = swept().zip(own..).map(|(swept, index)| swept.functions(index));
        let functions = generic.chain(functions);
        let run = self.run();
        let (axes, axes_function) = if own > 0 || swept().next().is_some() {
            let listing = SweepSpec::listing(self.generics.iter().map(|generic| &generic.axis), swept());
            (quote!(__wb::Axes::Written(__axes)), quote!(fn __axes() -> __wb::Vec<__wb::Axis> { #listing }))
        } else {
            (quote!(__wb::Axes::NONE), TokenStream::new())
        };
        let (keep, keep_function) = self.keep(swept);
        let (needs, needs_function) =
            self.of_workload(self.needs.as_ref(), "needs", &quote!(__wb::Requirements), swept);
        let (describe, describe_function) =
            self.of_workload(self.describe.as_ref(), "describe", &quote!(__wb::String), swept);
        let contract = self.parameters.iter().find_map(|parameter| match parameter {
            FunctionParameter::Subject { ty, contract } => Some(expansion::contract(ty, contract)),
            FunctionParameter::Swept(_) => None,
        });
        let agreement = quote!(__wb::Equivalence);
        let is_said = self.equivalence.is_some() || self.equivalence_by.is_some();
        let (by, by_function) = if self.workload.is_some() && contract.is_some() && !is_said {
            self.of_workload(None, "agreement", &agreement, swept)
        } else {
            told(self.equivalence_by.as_ref(), "equivalence", &agreement, self.taken(swept), |told| told)
        };
        let contract = some_or_none(contract.as_ref());
        let equivalence = some_or_none(self.equivalence.as_ref());
        let group = some_or_none(self.group.as_ref());
        let budget = self.budget.tokens();
        let Self { runtime, id, category, description, sets, collective, .. } = &self;
        let registration = format_ident!("__WEIGHBRIDGE_SCENARIO_{}", self.name);
        let location = location();
        quote! {
            #[doc(hidden)]
            #[allow(non_upper_case_globals)]
            static #registration: () = {
                use #runtime::__private as __wb;
                #(#functions)*
                #axes_function
                #keep_function
                #needs_function
                #describe_function
                #by_function
                #run
                __wb::submit! {
                    __wb::ScenarioEntry {
                        id: #id,
                        category: #category,
                        description: #description,
                        sets: &[#(#sets),*],
                        equivalence: #equivalence,
                        equivalence_by: #by,
                        contract: #contract,
                        location: #location,
                        axes: #axes,
                        keep: #keep,
                        needs: #needs,
                        describe: #describe,
                        group: #group,
                        collective: #collective,
                        budget: #budget,
                        run: __run,
                    }
                }
            };
        }
    }

    /// The function that calls the author's.
    fn run(&self) -> TokenStream {
        let name = &self.name;
        // On the author's type, so that a first parameter that is no bencher is told there.
        let bencher = quote_spanned!(self.bencher.span()=> __bencher);
        let mut axis = self.generics.len()..;
        let arguments: Vec<TokenStream> = self
            .parameters
            .iter()
            .map(|parameter| match parameter {
                FunctionParameter::Subject { ty, .. } => quote!(__wb::subject::<#ty>(__subject)?),
                FunctionParameter::Swept(swept) => {
                    swept.argument(axis.next().expect("there are more numbers than axes"))
                }
            })
            .collect();
        let result = generic::call(&self.generics, |instance| {
            let call = quote!(#name #instance(#bencher #(, #arguments)*));
            match (self.is_async, &self.worker_threads) {
                (false, _) => call,
                (true, None) => quote!(__wb::block_on(__wb::Option::None, #call)?),
                (true, Some(threads)) => quote!(__wb::block_on(__wb::Option::Some(#threads), #call)?),
            }
        });
        let ending = quote_spanned!(self.output=> __wb::ScenarioOutput::ending(__result));
        quote! {
            fn __run(
                __bencher: &mut __wb::Bencher,
                __subject: __wb::Option<&mut dyn __wb::Any>,
                __point: &__wb::Point,
            ) -> __wb::Result<(), __wb::Error> {
                let __result = #result;
                #ending
            }
        }
    }

    /// The function that says whether a point is run: what it is called, and what it is.
    fn keep<'a, S: Iterator<Item = &'a SweepSpec>>(
        &self,
        swept: impl Fn() -> S,
    ) -> (TokenStream, TokenStream) {
        let grouped = swept().filter_map(|swept| match swept {
            SweepSpec::Options(ty, _) => Some(quote!(<#ty as __wb::Sweep>::keep(__point))),
            SweepSpec::Axis(_) => None,
        });
        let own = self.filter.as_ref().map(|filter| {
            let taken = swept().zip(self.generics.len()..).map(|(swept, index)| swept.take(index));
            let values: Vec<_> = (0..swept().count()).map(|index| format_ident!("__value_{index}")).collect();
            // On the author's path, so that a filter over other axes is told there.
            let call = quote_spanned!(filter.span()=> __wb::KeepOutput::kept(#filter(#(&#values),*)));
            quote! {
                {
                    fn __kept(__point: &__wb::Point) -> __wb::Result<__wb::Keep, __wb::Error> {
                        #(let #values = #taken;)*
                        __wb::Result::Ok(#call)
                    }
                    __wb::Keep::of(__kept(__point))
                }
            }
        });
        let mut all = grouped.chain(own);
        let Some(first) = all.next() else { return (quote!(__wb::Keep::always), TokenStream::new()) };
        let function = quote! {
            fn __keep(__point: &__wb::Point) -> __wb::Keep { #first #(.and(|| #all))* }
        };
        (quote!(__keep), function)
    }

    /// The axes of the author's functions as they are taken out of a point.
    fn taken<'a, S: Iterator<Item = &'a SweepSpec>>(&self, swept: impl Fn() -> S) -> Vec<TokenStream> {
        swept().zip(self.generics.len()..).map(|(swept, index)| swept.take(index)).collect()
    }

    /// The workload of a point, or a function of the author's own.
    fn of_workload<'a, S: Iterator<Item = &'a SweepSpec>>(
        &self,
        own: Option<&Expr>,
        what: &str,
        result: &TokenStream,
        swept: impl Fn() -> S,
    ) -> (TokenStream, TokenStream) {
        let taken = self.taken(swept);
        let method = format_ident!("{what}");
        match &self.workload {
            Some(workload) => told(Some(workload), what, result, taken, |of| {
                // On the author's path, so that what is no workload is told there.
                quote_spanned!(workload.span()=> __wb::Workload::#method(&#of))
            }),
            None => told(own, what, result, taken, |told| told),
        }
    }
}

/// A function of the author's that tells something of a point, as the registry calls it: by the point.
fn told(
    teller: Option<&Expr>,
    what: &str,
    result: &TokenStream,
    taken: Vec<TokenStream>,
    of: impl Fn(TokenStream) -> TokenStream,
) -> (TokenStream, TokenStream) {
    let Some(teller) = teller else { return (quote!(__wb::Option::None), TokenStream::new()) };
    let name = format_ident!("__{what}");
    let answer = of(quote!(#teller(#(&#taken),*)));
    let function = quote! {
        fn #name(__point: &__wb::Point) -> __wb::Option<#result> {
            fn __told(__point: &__wb::Point) -> __wb::Result<#result, __wb::Error> {
                __wb::Result::Ok(#answer)
            }
            __told(__point).ok()
        }
    };
    (quote!(__wb::Option::Some(#name)), function)
}

/// The budget of a scenario, where its author states one.
#[derive(Default)]
struct BudgetKeys {
    samples: Option<LitInt>,
    min_time: Option<f64>,
    max_time: Option<f64>,
    repeats: Option<LitInt>,
}

impl BudgetKeys {
    fn check(options: &AttrOptions, errors: &mut Errors) -> Self {
        let budget = Self {
            samples: options.count("samples", errors),
            min_time: options.seconds("min_time", errors),
            max_time: options.seconds("max_time", errors),
            repeats: options.count("repeats", errors),
        };
        if let (Some(min), Some(max), Some(key)) = (budget.min_time, budget.max_time, options.key("max_time"))
            && min > max
        {
            errors.at(key, format!("`max_time` ({max} s) is below `min_time` ({min} s)"));
        }
        budget
    }

    fn tokens(&self) -> TokenStream {
        let Self { samples, min_time, max_time, repeats } = self;
        if samples.is_none() && min_time.is_none() && max_time.is_none() && repeats.is_none() {
            return quote!(__wb::PartialBudget::NONE);
        }
        let seconds = |time: &Option<f64>| {
            some_or_none(time.map(|time| {
                let nanoseconds = (time * 1e9) as u64;
                quote!(::core::time::Duration::from_nanos(#nanoseconds))
            }))
        };
        let (min_time, max_time) = (seconds(min_time), seconds(max_time));
        let (samples, repeats) = (some_or_none(samples.as_ref()), some_or_none(repeats.as_ref()));
        quote! {
            __wb::PartialBudget {
                samples: #samples, min_time: #min_time, max_time: #max_time, repeats: #repeats
            }
        }
    }
}

/// Reads the part of ranks of one run: each the whole, or all one thing together.
fn check_ranks(options: &AttrOptions, errors: &mut Errors) -> bool {
    let Some(ranks) = options.text("ranks", errors) else { return false };
    match &*ranks.value() {
        "collective" => true,
        "each" => false,
        other => {
            errors.at(&ranks, attr::unknown("value of `ranks`", other, ["collective", "each"].into_iter()));
            false
        }
    }
}

/// Adapters of a contract stand side by side anyway.
fn refuse_group_with_contract(options: &AttrOptions, parameters: &[FunctionParameter], errors: &mut Errors) {
    let has_contract =
        parameters.iter().any(|parameter| matches!(parameter, FunctionParameter::Subject { .. }));
    if let (Some(key), true) = (options.key("group"), has_contract) {
        errors.at(
            key,
            "`group` sets scenarios without a contract side by side: the adapters of one stand so anyway",
        );
    }
}

/// A generic parameter and another one may differ in case only for the compiler.
fn refuse_doubled_axis(generics: &[Generic], parameters: &[FunctionParameter], errors: &mut Errors) {
    for parameter in parameters {
        let FunctionParameter::Swept(SweepSpec::Axis(axis)) = parameter else { continue };
        if generics.iter().any(|generic| generic.axis.name.eq_ignore_ascii_case(&axis.name)) {
            errors.at(
                &axis.ty,
                format!("the axis `{}` is called like a generic parameter: rename one", axis.name),
            );
        }
    }
}

fn check_id(options: &AttrOptions, function: &Ident, errors: &mut Errors) -> Option<LitStr> {
    if options.is_missing("id") {
        let example = function.to_string().to_uppercase().replace('_', "-");
        errors.at(function, format!("the scenario has no id: write `#[scenario(id = \"{example}-1\")]`"));
        return None;
    }
    let id = options.text("id", errors)?;
    let value = id.value();
    let inner = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    if !value.starts_with(|first: char| first.is_ascii_alphanumeric()) || !value.chars().all(inner) {
        errors.at(
            &id,
            "an id begins with a letter or a digit and goes on with letters, digits, `_`, `.` and `-`, such \
             as `CV-1`",
        );
        return None;
    }
    Some(id)
}

fn check_sets(sets: &[LitStr], errors: &mut Errors) {
    for (index, set) in sets.iter().enumerate() {
        attr::refuse_unshowable("the name of the set", set, errors);
        if sets[..index].iter().any(|earlier| earlier.value() == set.value()) {
            errors.at(set, format!("the set `{}` is given twice: remove one", set.value()));
        }
    }
}

/// The part of the work that must agree, and the function that says it point by point.
fn check_equivalence(options: &AttrOptions, errors: &mut Errors) -> (Option<TokenStream>, Option<Expr>) {
    let Some(value) = options.expression("equivalence") else { return (None, None) };
    match value {
        Expr::Call(call) if is_called(call, "by") => match call.args.first() {
            Some(function @ Expr::Path(_)) if call.args.len() == 1 => (None, Some(function.clone())),
            _ => {
                errors.at(
                    value,
                    "`by` takes the path of a function over the axes: write `by(what_must_agree)`",
                );
                (None, None)
            }
        },
        _ => (check_form(value, errors), None),
    }
}

fn is_called(call: &ExprCall, name: &str) -> bool {
    matches!(&*call.func, Expr::Path(path) if path.path.is_ident(name))
}

fn check_form(value: &Expr, errors: &mut Errors) -> Option<TokenStream> {
    const FORMS: [&str; 6] = ["exact", "approx", "alike", "shape", "none", "by"];
    let name = match value {
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        Expr::Call(call) => match &*call.func {
            Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        },
        _ => None,
    };
    match (name.as_deref(), value) {
        (Some("exact"), Expr::Path(_)) => Some(quote!(__wb::Equivalence::Exact)),
        (Some("shape"), Expr::Path(_)) => Some(quote!(__wb::Equivalence::Shape)),
        (Some("none"), Expr::Path(_)) => Some(quote!(__wb::Equivalence::None)),
        (Some("approx"), Expr::Call(call)) if call.args.len() == 1 => {
            let tolerance = check_tolerance(&call.args[0], errors)?;
            Some(quote!(__wb::Equivalence::Approx(#tolerance)))
        }
        (Some("alike"), Expr::Call(call)) if call.args.len() == 1 => {
            let tolerance = check_tolerance(&call.args[0], errors)?;
            Some(quote!(__wb::Equivalence::Alike(#tolerance)))
        }
        (Some(name @ ("approx" | "alike")), _) => {
            let example = if name == "approx" { "1e-5" } else { "0.01" };
            errors.at(value, format!("`{name}` takes the relative tolerance: write `{name}({example})`"));
            None
        }
        (Some("by"), _) => {
            errors.at(value, "`by` takes the path of a function over the axes: write `by(what_must_agree)`");
            None
        }
        (Some(name), Expr::Path(_)) if !FORMS.contains(&name) => {
            errors.at(value, attr::unknown("equivalence", name, FORMS.into_iter()));
            None
        }
        _ => {
            errors.at(
                value,
                "what must agree is one of `exact`, `approx(1e-5)`, `alike(0.01)`, `shape`, `none`, \
                 `by(function)`",
            );
            None
        }
    }
}

fn check_tolerance(value: &Expr, errors: &mut Errors) -> Option<f64> {
    let number = match value {
        Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Float(number) => number.base10_parse::<f64>().ok(),
            syn::Lit::Int(number) => number.base10_parse::<f64>().ok(),
            _ => None,
        },
        _ => None,
    };
    if number.is_none() {
        errors.at(value, "the tolerance is a number that is not negative: write `approx(1e-5)`");
    }
    number
}

fn check_worker_threads(options: &AttrOptions, is_async: bool, errors: &mut Errors) -> Option<LitInt> {
    let key = options.key("worker_threads")?;
    if !is_async {
        errors.at(
            key,
            "`worker_threads` is for `async` scenarios; a body on several threads is \
             `bencher.iter_threads(n, ...)`",
        );
    }
    let threads = options.number("worker_threads", errors)?;
    if !threads.base10_parse::<usize>().is_ok_and(|threads| threads > 0) {
        errors.at(&threads, "at least one thread: write `worker_threads = 2`");
    }
    Some(threads)
}
