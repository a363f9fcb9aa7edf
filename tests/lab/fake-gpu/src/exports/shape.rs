//! The shapes of calls, to be held against the bindings.

/// A parameter's or a result's shape: what of a type decides how it is passed and what is written through it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Bytes.
    pub size: usize,
    /// Whether it is a pointer.
    pub pointer: bool,
    /// Whether it is, or points to, a floating point number.
    pub float: bool,
}

impl Shape {
    /// The shape of a type.
    pub fn of<T>() -> Self {
        let name = std::any::type_name::<T>();
        let pointer = name.starts_with('*') || name.contains("fn(");
        let target = name.trim_start_matches("*mut ").trim_start_matches("*const ");
        Self { size: size_of::<T>(), pointer, float: target == "f32" || target == "f64" }
    }
}

/// A call's parameters and result.
pub trait CallShape {
    /// The result first.
    fn shapes(&self) -> Vec<Shape>;
}

macro_rules! shaped {
    ($($parameter:ident)*) => {
        impl<R, $($parameter,)*> CallShape for unsafe extern "C" fn($($parameter),*) -> R {
            fn shapes(&self) -> Vec<Shape> {
                vec![Shape::of::<R>(), $(Shape::of::<$parameter>()),*]
            }
        }
        impl<R, $($parameter,)*> CallShape for unsafe fn($($parameter),*) -> R {
            fn shapes(&self) -> Vec<Shape> {
                vec![Shape::of::<R>(), $(Shape::of::<$parameter>()),*]
            }
        }
        many!($($parameter)*);
    };
}
macro_rules! many {
    () => {};
    ($first:ident $($rest:ident)*) => { shaped!($($rest)*); };
}
shaped!(A B C D E F G H I J K);
