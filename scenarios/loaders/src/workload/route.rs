//! How each delivered field comes about: which field of the data it starts from, and which transforms touch
//! it.

use weighbridge::{Dtype, Error, FieldKind, Result};

use super::transform::TransformEffect;
use super::{Merge, Structure, Transform, TransformGate};

/// The way of one delivered field through a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The position of the field in the data set that it starts from.
    pub source: usize,
    /// The transforms that touch it before the branches, in order.
    pub trunk: Vec<Touch>,
    /// The transforms that touch it in each branch, if branches are merged into it.
    pub branches: Vec<Vec<Touch>>,
    /// The field as it is delivered. A field that is padded dynamically has its greatest length here.
    pub output: FieldKind,
}

/// One transform that touches a field.
#[derive(Clone, Debug, PartialEq)]
pub struct Touch {
    /// The transform.
    pub transform: Transform,
    /// Its position in the pipeline, an address of its draws.
    pub position: usize,
    /// The condition on which an element goes through it; `None`: all do.
    pub gate: Option<TransformGate>,
    /// The field as it comes.
    pub before: FieldKind,
    /// The field as it goes.
    pub after: FieldKind,
}

impl Route {
    /// Everything that touches it, branches one after the other.
    pub fn touches(&self) -> impl Iterator<Item = &Touch> {
        self.trunk.iter().chain(self.branches.iter().flatten())
    }

    /// Returns whether its last axis is padded batch by batch.
    pub fn is_padded(&self) -> bool {
        self.touches().any(|touch| touch.transform == Transform::DynamicPad)
    }
}

impl Touch {
    /// Returns the number of times that it rounds to whole numbers: a field of `u8`, by a step that makes
    /// fractions of it.
    pub fn roundings(&self) -> u32 {
        match self.transform {
            // Decoders are up to a level apart on the mean, and the resize rounds.
            Transform::DecodeResizedCrop => 3,
            _ if self.before.dtype != Dtype::U8 || self.after.dtype != Dtype::U8 => 0,
            Transform::MultiScaleResize => 2,
            Transform::RandomResizedCrop
            | Transform::ColorJitter
            | Transform::RandomGrayscale
            | Transform::GaussianBlur => 1,
            _ => 0,
        }
    }
}

/// The routes of all delivered fields, in order: those of the data set, then those that transforms add.
///
/// # Errors
/// A transform that touches nothing, or a field that it cannot do; two fields of one name.
pub(super) fn routes(
    kinds: &[&FieldKind],
    transforms: &[Transform],
    structure: &Structure,
) -> Result<Vec<Route>> {
    let start = |(source, kind): (usize, &&FieldKind)| Route {
        source,
        trunk: Vec::new(),
        branches: Vec::new(),
        output: (*kind).clone(),
    };
    let mut routes: Vec<Route> = kinds.iter().enumerate().map(start).collect();
    for (position, &transform) in transforms.iter().enumerate() {
        let mut added = Vec::new();
        let mut touched = false;
        for route in &mut routes {
            let before = route.output.clone();
            let gate = structure.gate(position);
            let touch = |after: FieldKind| Touch { transform, position, gate, before: before.clone(), after };
            match transform.effect(kinds[route.source], &before) {
                TransformEffect::Untouched => continue,
                TransformEffect::Becomes(after) => {
                    route.trunk.push(touch(after.clone()));
                    route.output = after;
                }
                TransformEffect::Adds(after) => {
                    let mut fork = route.clone();
                    fork.trunk.push(touch(after.clone()));
                    fork.output = after;
                    added.push(fork);
                }
            }
            touched = true;
        }
        routes.extend(added);
        if !touched {
            return Err(untouched(transform, position));
        }
    }
    let routes = branch(transforms.len(), structure, kinds, routes)?;
    for route in &routes {
        check(route, kinds)?;
    }
    let mut names: Vec<&str> = routes.iter().map(|route| &*route.output.name).collect();
    names.sort_unstable();
    if let Some(place) = (1..names.len()).find(|&place| names[place - 1] == names[place]) {
        return Err(Error::new(format!("two delivered fields would have the name `{}`", names[place])));
    }
    Ok(routes)
}

/// Lets every route that a branch touches go through the branches, whose positions follow those of the
/// `trunk`.
fn branch(
    trunk: usize,
    structure: &Structure,
    kinds: &[&FieldKind],
    routes: Vec<Route>,
) -> Result<Vec<Route>> {
    if structure.branches.is_empty() {
        return Ok(routes);
    }
    let mut touched = vec![false; structure.branches.iter().map(Vec::len).sum()];
    let mut out = Vec::new();
    for route in routes {
        let mut position = trunk;
        let mut ways: Vec<(Vec<Touch>, FieldKind)> = Vec::new();
        for branch in &structure.branches {
            let (mut way, mut now) = (Vec::new(), route.output.clone());
            for &transform in branch {
                match transform.effect(kinds[route.source], &now) {
                    TransformEffect::Untouched => {}
                    TransformEffect::Adds(kind) => {
                        return Err(Error::new(format!(
                            "{transform} in a branch would add the field `{}`: put it before the branches",
                            kind.name
                        )));
                    }
                    TransformEffect::Becomes(after) => {
                        touched[position - trunk] = true;
                        let before = std::mem::replace(&mut now, after.clone());
                        way.push(Touch { transform, position, gate: None, before, after });
                    }
                }
                position += 1;
            }
            ways.push((way, now));
        }
        if ways.iter().all(|(way, _)| way.is_empty()) {
            out.push(route); // no branch knows it: it is delivered once
            continue;
        }
        match structure.merge {
            Merge::Mean => {
                let output = ways[0].1.clone();
                if ways.iter().any(|(_, kind)| *kind != output) || output.dtype != Dtype::F32 {
                    return Err(Error::new(format!(
                        "the mean of the branches of field `{}` needs f32 of one shape from each of them",
                        output.name
                    )));
                }
                let branches = ways.into_iter().map(|(way, _)| way).collect();
                out.push(Route { branches, output, ..route });
            }
            Merge::Views => {
                for (number, (way, kind)) in (1..).zip(ways) {
                    let mut view = route.clone();
                    view.trunk.extend(way);
                    view.output = FieldKind { name: format!("{}_{number}", kind.name), ..kind };
                    out.push(view);
                }
            }
        }
    }
    if let Some(place) = touched.iter().position(|touched| !touched) {
        let mut all = structure.branches.iter().flatten();
        let transform = *all.nth(place).expect("there is a mark for each transform");
        return Err(untouched(transform, trunk + place));
    }
    Ok(out)
}

fn check(route: &Route, kinds: &[&FieldKind]) -> Result<()> {
    for Touch { transform, position, gate, before, after } in route.touches() {
        if let Some(what) = transform.refuses(before) {
            return Err(Error::new(format!(
                "{transform} {what}: field `{}` has the element shape {:?}",
                before.name, before.shape
            )));
        }
        if gate.is_some() && before != after {
            return Err(Error::new(format!(
                "{transform} at position {position} changes what field `{}` is, \
                 so it cannot be done for some elements alone",
                before.name
            )));
        }
        if *transform == Transform::DynamicPad {
            let is_length = |kind: &&FieldKind| {
                kind.name == "length" && kind.dtype == Dtype::I32 && kind.shape.is_empty()
            };
            if !kinds.iter().any(is_length) {
                return Err(Error::new(
                    "DynamicPad needs the field `length` (i32, without axes) in the data set, \
                     which says how long a row is",
                ));
            }
            if gate.is_some() {
                return Err(Error::new(
                    "DynamicPad pads whole batches: it cannot be done for some elements alone",
                ));
            }
        }
    }
    if route.is_padded() && route.output.shape.len() != 1 {
        return Err(Error::new(
            "CausalMaskGeneration after DynamicPad would have a shape of its own in each batch: \
             put it before",
        ));
    }
    Ok(())
}

fn untouched(transform: Transform, position: usize) -> Error {
    Error::new(format!(
        "transform {transform} at position {position} touches no field of the data: {}",
        transform.wants()
    ))
}
